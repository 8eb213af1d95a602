// A capture that was dropped: its findings, its flows, and one flow as a sequence diagram, in which the frames of the findings are found.
import { useEffect } from 'preact/hooks';
import { signal, useSignal } from '@preact/signals';
import { get, getText, upload } from './api.ts';
import type { Json } from './model.ts';
import { Field, Figure, Problem, useLoaded } from './parts.tsx';
import { counted, show } from './units.ts';

// The captures that this page has taken, with the names of their files, which the server is not told.
export const taken = signal<[number, string][]>([]);
const GRAPHS = ['time-sequence', 'throughput', 'rtt', 'inflight', 'window'];
// Frames before the one that is looked for.
const CONTEXT = 5;

export function Captures() {
  const problem = useSignal('');
  const take = async (files: FileList | null) => {
    for (const file of files ?? []) {
      problem.value = '';
      try {
        const answer = await upload('/api/import', file);
        if (answer.capture == null) problem.value = `${file.name}: no capture; it was read as a log\n${answer.text}`;
        else {
          taken.value = [...taken.value, [answer.capture, file.name]];
          location.hash = `#/capture/${answer.capture}`;
        }
      } catch (cause) { problem.value = `${file.name}: ${(cause as Error).message}`; }
    }
  };
  return (
    <div onDragOver={(event) => event.preventDefault()} onDrop={(event) => { event.preventDefault(); take(event.dataTransfer?.files ?? null); }}>
      <h1>Captures</h1>
      <Field label="capture" hint="pcap or pcapng, also compressed, up to 64 MiB: chosen here, or dropped onto the page. The last four stay until caudal ui ends.">
        <input type="file" multiple onChange={(event) => take(event.currentTarget.files)} />
      </Field>
      <Problem text={problem.value} />
      <ul class="plain">{taken.value.map(([nth, name]) => <li><a href={`#/capture/${nth}`}>{name}</a></li>)}</ul>
    </div>
  );
}

const size = (bytes: number) => (bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : bytes >= 1e4 ? `${(bytes / 1e3).toFixed(1)} kB` : `${bytes} B`);
const end = (one: Json) => (String(one.address).includes(':') ? `[${one.address}]:${one.port}` : `${one.address}:${one.port}`);

export function Capture({ nth }: { nth: string }) {
  const { value: document, error } = useLoaded(() => get(`/api/captures/${nth}`), nth);
  const chosen = useSignal<{ flow: number; frame: number | null } | null>(null);
  if (!document.value) return error.value ? <Problem text={error.value} /> : <p role="status">reading …</p>;
  const { totals, findings, flows } = document.value as Json;
  const flow = chosen.value?.flow ?? flows[0]?.number;
  return (
    <div>
      <h1>{taken.value.find(([one]) => String(one) === nth)?.[1] ?? `Capture ${nth}`}</h1>
      <p>{counted(totals.frames, 'frame')}, {size(totals.bytes)} in {show(totals.duration_s * 1e3, 'ms')}, {counted(totals.flows, 'flow')}</p>
      <h2>Findings</h2>
      {!findings.length && <p>Nothing wrong found.</p>}
      <ul class="plain">{(findings as Json[]).map((one) => (
        <li><b>{one.severity}</b>: {one.flow != null && `flow ${one.flow}: `}{one.message}
          {one.frames?.length > 0 && <> (frames {(one.frames as number[]).map((frame) => (
            <><button type="button" class="small" onClick={() => { chosen.value = { flow: one.flow ?? flow, frame }; }}>{frame}</button>{' '}</>
          ))}{one.count > one.frames.length && '…'})</>}
          {one.remedy && <><br /><span class="soft">→ {one.remedy}</span></>}
        </li>
      ))}</ul>
      <h2>Flows</h2>
      <div class="scroll" tabIndex={0} role="group" aria-label="Flows">
        <table>
          <thead><tr><th scope="col">Flow</th><th scope="col">Client</th><th scope="col">Server</th><th scope="col">Bytes</th><th scope="col">Frames</th><th scope="col">Time</th></tr></thead>
          <tbody>{(flows as Json[]).slice(0, 200).map((one) => (
            <tr><td><button type="button" class="small" aria-pressed={one.number === flow} onClick={() => { chosen.value = { flow: one.number, frame: null }; }}>{one.number} {one.transport}</button></td>
              <td>{end(one.client)}</td><td>{end(one.server)}</td><td>{size(one.bytes)}</td><td>{one.frames}</td><td>{show(one.duration_s * 1e3, 'ms')}</td></tr>
          ))}</tbody>
        </table>
      </div>
      {flow != null && <Flow nth={nth} flow={flow} frame={chosen.value?.frame ?? null} />}
    </div>
  );
}

function Flow({ nth, flow, frame }: { nth: string; flow: number; frame: number | null }) {
  // A frame that the diagram has is gone to; for another the diagram begins shortly before it.
  const from = useSignal(0);
  const { value, error } = useLoaded(() => get(`/api/captures/${nth}/${flow}?from=${from.value}`), `${nth}/${flow}/${from.value}`);
  const graph = useSignal('');
  const { value: svg } = useLoaded(() => (graph.value ? getText(`/api/captures/${nth}/${flow}/graph/${graph.value}`) : Promise.resolve('')), `${nth}/${flow}/${graph.value}`);
  useEffect(() => { from.value = 0; }, [nth, flow]);
  const ladder = value.value?.ladder;
  useEffect(() => {
    if (frame == null || !ladder || ladder.flow !== flow) return;
    const row = document.getElementById(`frame-${frame}`);
    if (row) row.focus();
    else if (ladder.left_out > 0 || from.value > frame) from.value = Math.max(0, frame - CONTEXT);
  }, [frame, flow, ladder]);
  if (!ladder) return <Problem text={error.value} />;
  const steps = ladder.steps as Json[];
  return (
    <section>
      <h2>Flow {flow}</h2>
      <details><summary>Details</summary><pre tabIndex={0}>{value.value.text}</pre></details>
      <p class="buttons">{GRAPHS.map((one) => (
        <button type="button" aria-pressed={graph.value === one} onClick={() => { graph.value = graph.value === one ? '' : one; }}>{one}</button>
      ))}</p>
      {graph.value && svg.value && <Figure svg={svg.value} label={`The graph ${graph.value} of flow ${flow}; its numbers are in the details.`} />}
      <h3>Sequence diagram</h3>
      <div class="ladder scroll" tabIndex={0} role="group" aria-label={`Sequence diagram of flow ${flow}`}>
        <table>
          <thead><tr><th scope="col">Frame</th><th scope="col">Time (s)</th><th scope="col">{end(ladder.client)} (left) and {end(ladder.server)} (right)</th></tr></thead>
          <tbody>{steps.map((step) => (
            <tr id={`frame-${step.frame}`} tabIndex={-1} class={step.frame === frame ? 'found' : undefined}>
              <td>{step.frame}</td><td>{Number(step.time_s).toFixed(6)}</td>
              <td><span class={`arrow ${step.direction}`}>{words(step)}</span>{step.label && <span class="note">{step.label}</span>}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
      <p class="buttons">
        {from.value > 0 && <button type="button" onClick={() => { from.value = 0; }}>from the beginning</button>}
        {ladder.left_out > 0 && steps.length > 0 && <button type="button" onClick={() => { from.value = steps[steps.length - 1].frame + 1; }}>{ladder.left_out} more frames</button>}
      </p>
    </section>
  );
}

function words(step: Json): string {
  const parts = [step.flags];
  if (step.seq != null) parts.push(`seq ${step.seq}`);
  if (step.ack != null) parts.push(`ack ${step.ack}`);
  if (step.payload_bytes > 0) parts.push(`len ${step.payload_bytes}`);
  if (step.window_bytes != null) parts.push(`win ${step.window_bytes}`);
  return parts.filter(Boolean).join(' ');
}
