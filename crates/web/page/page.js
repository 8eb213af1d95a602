'use strict';
// The page of a test: it makes the connections that the server asks for, moves payload over them, counts what it receives, and shows
// what the server measured. The protocol is described in docs/web.md.
const $ = (id) => document.getElementById(id);
const NAMES = { idle: 'without load', download: 'download', upload: 'upload', both: 'both at once' };
const START = 1 << 13, MOST = 1 << 20, COUNT_MS = 100, TICK_MS = 10;

const rate = (bps) => {
  if (bps == null) return '–';
  const units = ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s'];
  let nth = 0;
  while (bps >= 1000 && nth < 3) { bps /= 1000; nth += 1; }
  return `${bps >= 100 ? bps.toFixed(0) : bps.toPrecision(3)} ${units[nth]}`;
};
const time = (ms) => (ms == null ? '–' : `${ms >= 100 ? ms.toFixed(0) : ms.toFixed(1)} ms`);

// A line over time, drawn anew with each value: at most a few hundred.
class Chart {
  constructor(box, show) { this.box = box; this.show = show; this.points = []; this.total = 1; }
  reset(total) { this.points = []; this.total = total; this.draw(); }
  lift() { this.points.push(null); }
  add(at, value) { this.points.push(value == null ? null : [at, value]); this.draw(); }
  draw() {
    const known = this.points.filter(Boolean);
    const most = Math.max(...known.map((point) => point[1]), 0) * 1.1 || 1;
    let path = '', pen = 'M';
    for (const point of this.points) {
      if (!point) { pen = 'M'; continue; }
      path += `${pen}${(point[0] / this.total * 1000).toFixed(1)} ${(100 - point[1] / most * 100).toFixed(1)}`;
      pen = 'L';
    }
    const space = 'http://www.w3.org/2000/svg';
    const svg = document.createElementNS(space, 'svg');
    svg.setAttribute('viewBox', '0 0 1000 100');
    svg.setAttribute('preserveAspectRatio', 'none');
    const line = document.createElementNS(space, 'path');
    line.setAttribute('d', path);
    svg.append(line);
    const scale = document.createElement('span');
    scale.textContent = known.length ? this.show(most) : '';
    this.box.replaceChildren(svg, scale);
    const values = known.map((point) => point[1]);
    if (values.length) {
      this.box.setAttribute('aria-label', `${this.box.dataset.name}: latest ${this.show(values.at(-1))}, `
        + `lowest ${this.show(Math.min(...values))}, highest ${this.show(Math.max(...values))}`);
    }
  }
}

const charts = {};
for (const [id, show] of [['down', rate], ['up', rate], ['rtt', time]]) {
  const box = $(`c-${id}`);
  box.dataset.name = box.getAttribute('aria-label');
  charts[id] = new Chart(box, show);
}

// Random bytes, which nothing on the way compresses.
const payload = new Uint8Array(MOST);
for (let at = 0; at < MOST; at += 65536) crypto.getRandomValues(payload.subarray(at, at + 65536));

class Test {
  constructor() {
    this.sockets = [];
    this.phase = null;
    this.received = 0;
    this.timers = [];
    this.done = false;
    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    this.base = `${scheme}//${location.host}`;
    this.dialogue = new WebSocket(`${this.base}/test`);
    this.dialogue.onmessage = (event) => this.told(JSON.parse(event.data));
    this.dialogue.onclose = () => this.ended(null);
    this.onHide = () => { if (document.hidden) this.say({ t: 'hidden' }); };
    document.addEventListener('visibilitychange', this.onHide);
    this.onHide();
  }

  say(message) {
    if (this.dialogue.readyState === WebSocket.OPEN) this.dialogue.send(JSON.stringify(message));
  }

  stop() { this.say({ t: 'stop' }); this.dialogue.close(); this.ended('You stopped the test.'); }

  told(message) {
    switch (message.t) {
      case 'hello':
        this.session = message.session;
        this.total = message.total_ms / 1000 + 6;
        for (const chart of Object.values(charts)) chart.reset(this.total);
        this.probe = this.connect('probe');
        this.onHide();
        break;
      case 'phase':
        this.phase = message;
        for (const chart of Object.values(charts)) chart.lift();
        $('status').textContent = `Measuring ${NAMES[message.load]} …`;
        for (let nth = 0; nth < message.streams; nth += 1) {
          if (message.load !== 'upload') this.sockets.push(this.download());
          if (message.load !== 'download') this.sockets.push(this.connect('up'));
        }
        break;
      case 'go': this.go(message.number); break;
      case 'over': this.over(); break;
      case 'progress': this.progress(message); break;
      case 'failed': this.ended(`The test was not carried out: ${message.why}.`); break;
      case 'result': this.result(message); break;
      default: break;
    }
  }

  connect(kind) {
    const socket = new WebSocket(`${this.base}/s/${this.session}/${kind}`);
    socket.binaryType = 'arraybuffer';
    socket.kind = kind;
    return socket;
  }

  download() {
    const socket = this.connect('down');
    socket.onmessage = (event) => { this.received += event.data.byteLength; };
    return socket;
  }

  go(number) {
    const began = performance.now();
    this.received = 0;
    const ups = this.sockets.filter((socket) => socket.kind === 'up');
    if (this.sockets.length > ups.length) {
      this.timers.push(setInterval(() => {
        this.say({ t: 'count', number, ms: performance.now() - began, bytes: this.received });
      }, COUNT_MS));
    }
    if (!ups.length) return;
    for (const socket of ups) Object.assign(socket, { size: START, sent: 0 });
    let checks = 0, starved = 0, said = began;
    const fill = () => {
      for (const socket of ups) {
        if (socket.readyState !== WebSocket.OPEN) continue;
        // The kernel's buffers are full where something waits here: an empty queue may be a script that was too slow.
        checks += 1;
        if (socket.sent > 64 * START && socket.bufferedAmount === 0) starved += 1;
        while (socket.bufferedAmount < 7 * socket.size) {
          if (socket.size < MOST && socket.size < socket.sent / 16) socket.size *= 2;
          socket.send(payload.subarray(0, socket.size));
          socket.sent += socket.size;
        }
      }
      const now = performance.now();
      if (now - said > 500) {
        said = now;
        this.say({ t: 'starved', number, share: checks ? starved / checks : 0 });
      }
    };
    fill();
    this.timers.push(setInterval(fill, TICK_MS));
  }

  over() {
    for (const timer of this.timers) clearInterval(timer);
    this.timers = [];
    for (const socket of this.sockets) { socket.onmessage = null; socket.close(); }
    this.sockets = [];
  }

  progress(message) {
    charts.down.add(message.at_s, message.down_bps);
    charts.up.add(message.at_s, message.up_bps);
    charts.rtt.add(message.at_s, message.rtt_ms);
    if (message.down_bps != null) $('down').textContent = rate(message.down_bps);
    if (message.up_bps != null) $('up').textContent = rate(message.up_bps);
    if (message.rtt_ms != null) $('rtt').textContent = time(message.rtt_ms);
  }

  result(message) {
    const list = (id, texts) => $(id).replaceChildren(...texts.map((text) => {
      const item = document.createElement('li');
      item.textContent = text;
      return item;
    }));
    $('grade').textContent = message.grade ? `Grade ${message.grade} for delay under load`
      : `No grade: ${message.no_grade}`;
    list('words', message.words);
    list('doubts', message.doubts);
    const added = (ms) => (ms == null ? '–' : `+ ${time(ms)}`);
    $('figures').replaceChildren(...[
      ['without load', '–', time(message.idle_ms)],
      ['download', rate(message.down_bps), added(message.down_added_ms)],
      ['upload', rate(message.up_bps), added(message.up_added_ms)],
    ].map((cells) => {
      const row = document.createElement('tr');
      row.append(...cells.map((text, nth) => {
        const cell = document.createElement(nth ? 'td' : 'th');
        if (!nth) cell.scope = 'row';
        cell.textContent = text;
        return cell;
      }));
      return row;
    }));
    $('link').replaceChildren();
    if (message.link) {
      const link = document.createElement('a');
      link.href = message.link;
      link.textContent = 'the result with its figures';
      $('link').append('Kept at the server, for whoever has this link: ', link);
    }
    $('result').hidden = false;
    $('down').textContent = rate(message.down_bps);
    $('up').textContent = rate(message.up_bps);
    this.ended('The test is over.');
    document.body.dataset.result = JSON.stringify(message);
  }

  ended(why) {
    if (this.done) return;
    this.done = true;
    this.over();
    if (this.probe) this.probe.close();
    document.removeEventListener('visibilitychange', this.onHide);
    $('start').textContent = 'Start again';
    $('status').textContent = why || 'The connection to the server was lost, or it cannot take you now. Try again in a while.';
    current = null;
  }
}

let current = null;
$('start').addEventListener('click', () => {
  if (current) { current.stop(); return; }
  $('result').hidden = true;
  $('live').hidden = false;
  $('start').textContent = 'Stop';
  $('status').textContent = 'Connecting …';
  current = new Test();
});
