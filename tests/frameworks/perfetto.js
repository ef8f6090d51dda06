// SPDX-License-Identifier: Apache-2.0
// Asks Perfetto's trace processor, as its user interface has it (a worker and a WebAssembly
// module), about a trace: node perfetto.js FOLDER-OF-THE-INTERFACE TRACE QUERY... prints, for each
// query, a JSON array of rows. What goes in and out is Perfetto's protocol
// (protos/perfetto/trace_processor/trace_processor.proto, TraceProcessorRpcStream).
'use strict';
const fs = require('fs');
const path = require('path');

const [folder, trace, ...queries] = process.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3;     // TraceProcessorMethod

// Writing protocol buffers: a tag, then a varint or counted bytes.
const varint = (n) => n < 128 ? [n] : [(n % 128) | 128, ...varint(Math.floor(n / 128))];
const number = (field, value) => Buffer.from([...varint(field * 8), ...varint(value)]);
const bytes = (field, value) =>
  Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(value.length)]), value]);

// Reading them: a list of [field, value], where a value is a BigInt or bytes.
function* fields(buffer) {
  let at = 0;
  const take = () => {
    let value = 0n, shift = 0n, byte;
    do {
      byte = buffer[at++];
      value |= BigInt(byte & 127) << shift;
      shift += 7n;
    } while (byte > 127);
    return value;
  };
  while (at < buffer.length) {
    const tag = Number(take());
    if (tag % 8 === 0) {
      yield [tag >> 3, take()];
    } else if (tag % 8 === 2) {
      const length = Number(take());
      yield [tag >> 3, buffer.subarray(at, at += length)];
    } else {
      const width = tag % 8 === 1 ? 8 : 4;
      yield [tag >> 3, buffer.subarray(at, at += width)];
    }
  }
}

function varints(buffer) {
  const list = [];
  let value = 0n, shift = 0n;
  for (const byte of buffer) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte < 128) {
      list.push(BigInt.asIntN(64, value));
      value = shift = 0n;
    }
  }
  return list;
}

// QueryResult: names of columns, then batches of cells, of which each kind stands by itself.
function rowsOf(result, names, rows) {
  for (const [field, value] of fields(result)) {
    if (field === 1) {
      names.push(value.toString());
    } else if (field === 2) {
      throw new Error(value.toString());
    } else if (field === 3) {
      const batch = Object.fromEntries(fields(value));
      const numbers = varints(batch[2] ?? []);
      const texts = (batch[5] ?? Buffer.alloc(0)).toString().split('\0');
      [...(batch[1] ?? [])].forEach((kind, index) => {
        if (index % names.length === 0) rows.push([]);
        rows[rows.length - 1].push(
          kind === 2 ? Number(numbers.shift()) : kind === 4 ? texts.shift() : null);
      });
      if (batch[6]) return true;
    }
  }
  return false;
}

const file = (name) => fs.readFileSync(path.join(folder, path.basename(name)));

class Request {     // the worker's XMLHttpRequest, at once
  open(method, name) { this.name = name; }
  send() { this.response = new Uint8Array(file(this.name)).buffer; this.status = 200; }
}

// What the worker finds around it; it must not see that this is no browser.
const scope = {
  process: undefined, console: { ...console, log: () => {}, warn: () => {} },
  XMLHttpRequest: Request, WorkerGlobalScope: class {}, addEventListener: () => {},
  location: { href: 'http://localhost/engine_bundle.js', protocol: 'http:', host: 'localhost' },
  fetch: async (name) => new Response(file(name),
    { headers: { 'content-type': 'application/wasm' } }),
};
scope.self = scope;
new Function(...Object.keys(scope), file('engine_bundle.js').toString())(...Object.values(scope));

let seq = 0;
const heard = [];
const port = { postMessage: (data) => heard.push(Buffer.from(data)) };
scope.onmessage({ data: port });

function ask(method, more = Buffer.alloc(0)) {
  const request = Buffer.concat([number(1, seq++), number(2, method), more]);
  port.onmessage({ data: new Uint8Array(bytes(1, request)) });
}

function answers(field) {
  const list = [];
  for (const data of heard.splice(0))
    for (const [, message] of fields(data))
      for (const [name, value] of fields(message)) {
        if (name === 5) throw new Error(value.toString());
        if (name === field) list.push(value);
      }
  return list;
}

setTimeout(function begin() {
  try {
    ask(APPEND, bytes(101, fs.readFileSync(trace)));
  } catch (error) {     // the module is still being compiled
    if (seq++ > 200) throw error;
    setTimeout(begin, 100);
    return;
  }
  ask(FINALIZE);
  heard.splice(0);
  for (const query of queries) {
    const names = [], rows = [];
    ask(QUERY, bytes(103, bytes(1, Buffer.from(query))));
    for (const result of answers(203)) rowsOf(result, names, rows);
    console.log(JSON.stringify(rows));
  }
  process.exit(0);
}, 500);
