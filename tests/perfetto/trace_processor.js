// Perfetto's trace processor as its web page has it, in WebAssembly: requests on stdin, replies on stdout.
//     node trace_processor.js FOLDER < requests > replies      FOLDER has engine_bundle.js and its .wasm files
const fs = require('fs'), path = require('path');
const folder = process.argv[2];

class XMLHttpRequest { // how the bundle reads its .wasm file
  open(method, url) { this.url = url; }
  send() { this.response = fs.readFileSync(path.join(folder, path.basename(this.url))); }
}
const worker = { location: { href: 'file:///engine_bundle.js' } };
const log = { log: console.error, warn: console.error, error: console.error };
const names = { self: worker, XMLHttpRequest, WorkerGlobalScope: Object, process: undefined, console: log };
new Function(...Object.keys(names), fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'))(...Object.values(names));
setImmediate(() => {
  const replies = [], port = { postMessage(reply) { replies.push(Buffer.from(reply)); } };
  worker.onmessage({ data: port });
  port.onmessage({ data: new Uint8Array(fs.readFileSync(0)) });
  process.stdout.write(Buffer.concat(replies));
});
