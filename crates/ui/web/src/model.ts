// The events of a test folded into series, live and of a recorded run by the same code. Nothing here touches the page or the network.
// The types of documents are made of their JSON Schema (docs/reference/run.schema.json).
import type { ConnectInterval, FlowReport, Interval, QualityInterval, Run } from './run.d.ts';

export type { Run } from './run.d.ts';

// An interval of one flow, as events and documents have it.
type FlowInterval = Interval & Pick<FlowReport, 'id' | 'direction'>;

export interface Series {
  name: string;
  unit: 'bit/s' | 'ms' | '%' | '1/s';
  panel: Panel;
  at: number[];
  values: (number | null)[];
}

export type Panel = 'throughput' | 'latency' | 'loss';

export interface Model {
  series: Map<string, Series>;
  // Seconds that are covered so far.
  elapsed: number;
  // Seconds that the plan asks for; 0 where it does not say.
  planned: number;
  notes: string[];
  text: string[];
  hops: Hop[];
  run: Run | null;
  failure: string | null;
}

export interface Hop {
  ttl: number;
  address: string;
  rtt: number | null;
  lost: number | null;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any;

// Maximum number of points of a series: beyond it, of two neighbours the larger stays.
const MAX_POINTS = 40_000;

export function emptyModel(): Model {
  return { series: new Map(), elapsed: 0, planned: 0, notes: [], text: [], hops: [], run: null, failure: null };
}

function add(model: Model, name: string, unit: Series['unit'], panel: Panel, at: number, value: number | null | undefined): void {
  let series = model.series.get(name);
  if (!series) {
    series = { name, unit, panel, at: [], values: [] };
    model.series.set(name, series);
  }
  series.at.push(at);
  series.values.push(value == null || !Number.isFinite(value) ? null : value);
  if (series.at.length > MAX_POINTS) halve(series);
  model.elapsed = Math.max(model.elapsed, at);
}

function halve(series: Series): void {
  const at: number[] = [];
  const values: (number | null)[] = [];
  for (let nth = 0; nth + 1 < series.at.length; nth += 2) {
    const [one, other] = [series.values[nth], series.values[nth + 1]];
    at.push(series.at[nth + 1]);
    values.push(one == null ? other : other == null ? one : Math.max(one, other));
  }
  series.at = at;
  series.values = values;
}

const NAMES: Record<string, string> = { up: 'upload', down: 'download' };

function flows(model: Model, list: FlowInterval[]): void {
  const sums = new Map<string, { at: number; bps: number }>();
  for (const flow of list) {
    const direction = NAMES[flow.direction] ?? String(flow.direction);
    const at = flow.end_s;
    if (list.length > 1) add(model, `${direction}, flow ${flow.id}`, 'bit/s', 'throughput', at, flow.goodput_bps);
    const sum = sums.get(direction) ?? { at, bps: 0 };
    sum.bps += flow.goodput_bps ?? 0;
    sums.set(direction, sum);
    if (flow.tcp?.rtt_us) add(model, `round trip${list.length > 1 ? `, flow ${flow.id}` : ''}`, 'ms', 'latency', at, flow.tcp.rtt_us / 1e3);
    if (flow.udp) {
      const lost = flow.udp.lost ?? 0;
      const all = (flow.udp.datagrams ?? 0) + lost;
      add(model, `lost${list.length > 1 ? `, flow ${flow.id}` : ''}`, '%', 'loss', at, all > 0 ? (lost / all) * 100 : null);
    }
  }
  for (const [direction, sum] of sums) add(model, direction, 'bit/s', 'throughput', sum.at, sum.bps);
}

function quality(model: Model, interval: QualityInterval): void {
  const at = interval.end_s;
  add(model, 'download', 'bit/s', 'throughput', at, interval.down_bps);
  add(model, 'upload', 'bit/s', 'throughput', at, interval.up_bps);
  add(model, 'round trip', 'ms', 'latency', at, interval.rtt_us == null ? null : interval.rtt_us / 1e3);
  add(model, 'round trip, highest', 'ms', 'latency', at, interval.rtt_max_us == null ? null : interval.rtt_max_us / 1e3);
  if (interval.probes > 0) add(model, 'lost', '%', 'loss', at, (interval.lost / interval.probes) * 100);
}

// Takes one event, as `--json-stream` prints it.
export function take(model: Model, event: Json): void {
  switch (event.event) {
    case 'agreed': {
      const end = event.plan?.end?.time_ns ?? 0;
      const phases = (event.plan?.phases ?? []).reduce((sum: number, phase: Json) => sum + phase.time_ns, 0);
      model.planned = Math.max(model.planned, (end || phases) / 1e9);
      break;
    }
    case 'interval': flows(model, event.flows); break;
    case 'quality': quality(model, event.interval ?? event); break;
    case 'round_trips':
      add(model, 'round trip', 'ms', 'latency', event.end_s, event.mean_us == null ? null : event.mean_us / 1e3);
      add(model, 'round trip, highest', 'ms', 'latency', event.end_s, event.max_us == null ? null : event.max_us / 1e3);
      if (event.replies + event.lost > 0) add(model, 'lost', '%', 'loss', event.end_s, (event.lost / (event.replies + event.lost)) * 100);
      break;
    case 'connections': connections(model, event.interval ?? event); break;
    case 'path_round': path(model, event.round ?? event); break;
    case 'text': (event.is_note ? model.notes : model.text).push(String(event.text)); break;
    case 'finished': model.run = event.run ?? event; break;
    default:
      if (event.schema === 'caudal.error/1') model.failure = String(event.error?.message ?? 'it failed');
      else if (event.schema === 'caudal.run/1') model.run = event;
  }
}

function connections(model: Model, interval: ConnectInterval): void {
  add(model, 'connections', '1/s', 'throughput', interval.end_s, interval.per_s);
  add(model, 'handshake', 'ms', 'latency', interval.end_s, interval.connect_p50_us == null ? null : interval.connect_p50_us / 1e3);
}

function path(model: Model, round: Json): void {
  const hops: Json[] = round.hops ?? [];
  model.hops = hops.map((hop) => ({
    ttl: Number(hop.ttl),
    address: String(hop.name ?? hop.address ?? hop.addresses?.[0]?.address ?? '*'),
    rtt: hop.rtt_us == null ? null : Number(hop.rtt_us?.p50_us ?? hop.rtt_us) / 1e3,
    lost: hop.sent > 0 ? (1 - (hop.answered ?? hop.sent) / hop.sent) * 100 : null,
  }));
}

// The series of a recorded run.
export function ofRun(run: Run): Model {
  const model = emptyModel();
  for (const interval of run.quality?.intervals ?? []) quality(model, interval);
  for (const interval of run.connect?.intervals ?? []) connections(model, interval);
  const rows = new Map<number, FlowInterval[]>();
  for (const flow of run.flows ?? []) {
    (flow.intervals ?? []).forEach((interval, nth) => {
      const row = rows.get(nth) ?? [];
      row.push({ ...interval, id: flow.id, direction: flow.direction });
      rows.set(nth, row);
    });
  }
  if (!run.quality) for (const row of rows.values()) flows(model, row);
  model.run = run;
  return model;
}

// What the panel of a series shows, and what is bad, in a sentence.
export const MEANING: Record<Panel, string> = {
  throughput: 'Payload that arrived at the receiver. Steady is good; a rate that falls to zero at times is not.',
  latency: 'How long an answer takes. Good where it stays low under load; calls and games suffer from 100 ms more.',
  loss: 'What did not arrive. Anything above 1 % slows TCP down and is heard in calls.',
};

export function summary(series: Series, show: (value: number) => string): string {
  const known = series.values.filter((value): value is number => value != null);
  if (!known.length) return `${series.name}: nothing yet`;
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  return `${series.name}: latest ${show(known[known.length - 1])}, mean ${show(mean)}, lowest ${show(Math.min(...known))}, highest ${show(Math.max(...known))}`;
}
