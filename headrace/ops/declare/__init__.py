"""What declarations of ops are made with: constructors of regular ops, and the rules of ops that have none of their own."""

from headrace.ops.declare import meta, regular, resource, unsigned, update, vjp
