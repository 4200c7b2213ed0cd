"""What subclasses and tests of programs touch inside coordinators and monitored sessions."""

import threading

import tensorflow.compat.v1 as tf

from tensorflow.python.framework import errors_impl
from tensorflow.python.training import monitored_session


class CoordinatorTest(tf.test.TestCase):
    def testFields(self):
        coord = tf.train.Coordinator()
        self.assertFalse(coord._stop_event.is_set())
        self.assertIsNone(coord._exc_info_to_raise)
        self.assertEqual(0, len(coord._registered_threads))
        thread = threading.Thread(target=lambda: None)
        coord.register_thread(thread)
        self.assertIn(thread, coord._registered_threads)
        thread.start()
        thread.join()
        try:
            raise ValueError("wrong")
        except ValueError as e:
            error = e
            coord.request_stop(e)
        self.assertTrue(coord._stop_event.is_set())
        self.assertIs(error, coord._exc_info_to_raise[1])
        with self.assertRaisesRegexp(ValueError, "wrong"):
            coord.join()

    def testSubclass(self):
        class Patient(tf.train.Coordinator):
            def _filter_exception(self, ex):
                return None

        coord = Patient()
        with coord.stop_on_exception():
            raise ValueError("passed over")
        self.assertTrue(coord.should_stop())
        coord.join([])


class LayersTest(tf.test.TestCase):
    def testWrapped(self):
        class Stopped(monitored_session._WrappedSession):
            asked = False

            def _check_stop(self):
                return self.asked

        value = tf.constant(1.0)
        session = Stopped(tf.Session())
        self.assertEqual(1.0, session.run(value))
        self.assertIs(tf.get_default_graph(), session.graph)
        self.assertFalse(session.should_stop())
        session.asked = True
        self.assertTrue(session.should_stop())
        session.asked = False
        self.assertFalse(monitored_session._WrappedSession(session).should_stop())
        session.close()
        self.assertTrue(session.should_stop())

    def testCoordinated(self):
        coord = tf.train.Coordinator()
        session = monitored_session._CoordinatedSession(tf.Session(), coord)
        self.assertEqual(1.0, session.run(tf.constant(1.0)))
        self.assertFalse(session.should_stop())
        coord.request_stop()
        self.assertTrue(session.should_stop())
        session.close()
        self.assertTrue(coord.joined)

    def testRecoverable(self):
        class Aborts(monitored_session._WrappedSession):
            def __init__(self, sess, runs):
                super().__init__(sess)
                self.runs = runs

            def run(self, *args, **kwargs):
                self.runs -= 1
                if self.runs < 0:
                    raise errors_impl.AbortedError(None, None, "lost")
                return super().run(*args, **kwargs)

        class Creator:
            made = 0

            def create_session(self):
                self.made += 1
                return Aborts(tf.Session(), 1)

        creator = Creator()
        session = monitored_session._RecoverableSession(creator)
        self.assertEqual([1.0, 1.0, 1.0], [session.run(tf.constant(1.0)) for _ in range(3)])
        self.assertEqual(3, creator.made)
        session.close()

    def testHooked(self):
        value = tf.constant(1.0)
        session = monitored_session._HookedSession(tf.Session(), [])
        self.assertEqual([1.0, {"x": 1.0}], [session.run(value), session.run(fetches={"x": value})])
        session.close()

    def testMonitored(self):
        value = tf.constant(1.0)
        with tf.train.MonitoredSession() as session:
            self.assertFalse(session._is_closed())
            self.assertEqual(1.0, session._tf_sess().run(value))
            self.assertFalse(session._coordinated_creator.coord.should_stop())
        self.assertTrue(session._is_closed())
        self.assertIsNone(session._tf_sess())

    def testSessionManagerOfASubclass(self):
        seen = []

        class Creator(tf.train.ChiefSessionCreator):
            def _get_session_manager(self):
                manager = super()._get_session_manager()
                seen.append(manager)
                return manager

        tf.Variable(1.0)
        with tf.train.MonitoredSession(Creator()) as session:
            ready, missing = seen[0]._model_ready(session._tf_sess())
        self.assertTrue(ready)
        self.assertIsNone(missing)
