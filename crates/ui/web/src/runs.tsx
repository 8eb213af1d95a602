// What was recorded: the list, one run, and two sides compared.
import { useSignal, signal } from '@preact/signals';
import { get, getText, post, remove, save, upload } from './api.ts';
import { Panels } from './chart.tsx';
import { ofRun, type Json, type Series } from './model.ts';
import { taken } from './captures.tsx';
import { Copy, Field, Figure, Problem, useLoaded } from './parts.tsx';
import { show, showTime } from './units.ts';

const words = signal('');
const kind = signal('');
const tag = signal('');
const chosen = signal<string[]>([]);
const LIMIT = 50;
const KINDS = ['tcp', 'udp', 'rtt', 'connect', 'quality', 'path', 'check', 'file', 'study'];

function result(entry: Json): string {
  const headline = entry.headline ?? {};
  const parts = [];
  if (headline.goodput_bps != null) parts.push(show(headline.goodput_bps, 'bit/s'));
  if (headline.goodput_bps == null && headline.down_bps != null) parts.push(`↓ ${show(headline.down_bps, 'bit/s')}`);
  if (headline.goodput_bps == null && headline.up_bps != null) parts.push(`↑ ${show(headline.up_bps, 'bit/s')}`);
  if (headline.rtt_us != null) parts.push(show(headline.rtt_us / 1e3, 'ms'));
  if (headline.loss) parts.push(`${show(headline.loss * 100, '%')} lost`);
  return parts.join(', ') || entry.outcome;
}

// The main result over the test; the numbers are in the column beside it.
function Sparkline({ points }: { points?: number[] }) {
  if (!points) return null;
  const at = points.map((value, nth) => `${(nth / (points.length - 1)) * 100},${22 - value * 0.02}`);
  return <svg class="spark" viewBox="-1 0 102 24" preserveAspectRatio="none" aria-hidden="true"><polyline points={at.join(' ')} vector-effect="non-scaling-stroke" /></svg>;
}

export function Runs() {
  const offset = useSignal(0);
  const message = useSignal('');
  const capture = useSignal<number | null>(null);
  const query = new URLSearchParams({ words: words.value, kind: kind.value, tag: tag.value, limit: String(LIMIT), offset: String(offset.value) });
  const { value: list, error, again } = useLoaded(() => get(`/api/runs?${query}`), query.toString());
  const choose = (id: string, isChosen: boolean) => {
    chosen.value = isChosen ? [...chosen.value.filter((one) => one !== id), id].slice(-2) : chosen.value.filter((one) => one !== id);
  };
  const drop = async (files: FileList | null) => {
    for (const file of files ?? []) {
      message.value = `reading ${file.name} …`;
      try {
        const answer = await upload('/api/import', file);
        message.value = `${file.name}:\n${answer.text}`;
        if (answer.capture != null) { taken.value = [...taken.value, [answer.capture, file.name]]; capture.value = answer.capture; } else again();
      } catch (cause) { message.value = `${file.name}: ${(cause as Error).message}`; }
    }
  };
  const filter = (set: (text: string) => void) => (event: Event) => { set((event.currentTarget as HTMLInputElement).value); offset.value = 0; };
  return (
    <div onDragOver={(event) => event.preventDefault()} onDrop={(event) => { event.preventDefault(); drop(event.dataTransfer?.files ?? null); }}>
      <h1>Runs</h1>
      <div class="filters">
        <Field label="search"><input type="search" value={words.value} onInput={filter((text) => { words.value = text; })} /></Field>
        <Field label="kind"><select value={kind.value} onChange={filter((text) => { kind.value = text; })}>
          <option value="">all</option>{KINDS.map((one) => <option>{one}</option>)}
        </select></Field>
        <Field label="tag"><select value={tag.value} onChange={filter((text) => { tag.value = text; })}>
          <option value="">all</option>{(list.value?.tags ?? []).map((one: string) => <option>{one}</option>)}
        </select></Field>
        <Field label="import" hint="A log of iperf3, ping or others, or a capture: chosen here, or dropped onto the page.">
          <input type="file" multiple onChange={(event) => drop(event.currentTarget.files)} />
        </Field>
      </div>
      {message.value && <pre tabIndex={0} role="status">{message.value}</pre>}
      {capture.value != null && <p><a href={`#/capture/${capture.value}`}>Its flows and sequence diagrams</a></p>}
      <Problem text={error.value} />
      <p class="buttons">
        {chosen.value.length === 2
          ? <a class="button main" href={`#/compare/${chosen.value[0]}/${chosen.value[1]}`}>Compare the two</a>
          : <span class="soft">Choose two to compare them.</span>}
      </p>
      <div class="scroll" tabIndex={0} role="group" aria-label="Runs">
        <table>
          <thead><tr><td /><th scope="col">Started (UTC)</th><th scope="col">Kind</th><th scope="col">Result</th><th scope="col">Over time</th><th scope="col">Of</th></tr></thead>
          <tbody>{(list.value?.entries ?? []).map((entry: Json) => (
            <tr key={entry.id}>
              <td><input type="checkbox" aria-label={`choose ${entry.id.slice(0, 8)}`} checked={chosen.value.includes(entry.id)}
                onChange={(event) => choose(entry.id, event.currentTarget.checked)} /></td>
              <td><a href={`#/run/${entry.id}`}>{showTime(entry.started_ns / 1e6)}</a></td>
              <td>{entry.kind}</td>
              <td>{result(entry)}</td>
              <td><Sparkline points={entry.headline?.outline} /></td>
              <td>{entry.title ?? entry.name ?? entry.peer ?? entry.command} {entry.tags.map((one: string) => <span class="tag">{one}</span>)}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
      {list.value && !list.value.entries.length && <p>Nothing here. <a href="#/measure">Measure something</a>.</p>}
      <p class="buttons">
        {offset.value > 0 && <button type="button" onClick={() => { offset.value = Math.max(0, offset.value - LIMIT); }}>newer</button>}
        {list.value?.has_more && <button type="button" onClick={() => { offset.value += LIMIT; }}>older</button>}
      </p>
    </div>
  );
}

const FORMATS = ['html', 'svg', 'csv', 'json', 'md'];

export function RunPage({ id }: { id: string }) {
  const { value: loaded, error, again } = useLoaded(() => get(`/api/runs/${id}`), id);
  const { value: text } = useLoaded(() => getText(`/api/runs/${id}/text`), id);
  const { value: figure } = useLoaded(() => getText(`/api/runs/${id}/export/svg`), id);
  const overlayId = useSignal('');
  const { value: others } = useLoaded(() => get('/api/runs?limit=50'), 0);
  const { value: overlay } = useLoaded(() => (overlayId.value ? get(`/api/runs/${overlayId.value}`) : Promise.resolve(null)), overlayId.value);
  const title = useSignal('');
  const newTag = useSignal('');
  const problem = useSignal('');
  if (!loaded.value) return <Problem text={error.value} />;
  const run = loaded.value.document;
  const named = (series: Series, name: string): Series => ({ ...series, name: `${series.name} (${name})` });
  const own = [...ofRun(run).series.values()];
  const other = overlay.value ? [...ofRun(overlay.value.document).series.values()].map((one) => named(one, overlayId.value.slice(0, 8))) : [];
  const change = async (body: Json) => {
    try { await post(`/api/runs/${id}/tags`, body); newTag.value = ''; problem.value = ''; again(); } catch (cause) { problem.value = (cause as Error).message; }
  };
  const command = run.command ?? '';
  return (
    <div>
      <h1>{title.value || `Run ${id.slice(0, 8)}`}</h1>
      {command && <p class="line"><code>{command}</code> <Copy text={command} /></p>}
      <p>{(loaded.value.tags as string[]).map((one) => (
        <span class="tag">{one} <button type="button" class="small" aria-label={`take the tag ${one} away`} onClick={() => change({ remove: [one] })}>×</button></span>
      ))}</p>
      <div class="filters">
        <Field label="title of the figures"><input type="text" value={title.value} onInput={(event) => { title.value = event.currentTarget.value; }} /></Field>
        <Field label="beside it, on the same axes"><select value={overlayId.value} onChange={(event) => { overlayId.value = event.currentTarget.value; }}>
          <option value="">no other run</option>
          {(others.value?.entries ?? []).filter((entry: Json) => entry.id !== id && entry.kind !== 'study').map((entry: Json) => (
            <option value={entry.id}>{`${entry.id.slice(0, 8)} ${entry.kind} ${result(entry)}`}</option>
          ))}
        </select></Field>
        <Field label="another tag"><input type="text" value={newTag.value} onInput={(event) => { newTag.value = event.currentTarget.value; }}
          onKeyDown={(event) => { if (event.key === 'Enter' && newTag.value) change({ add: [newTag.value] }); }} /></Field>
      </div>
      <Problem text={problem.value} />
      <p class="buttons">
        {FORMATS.map((format) => (
          <button type="button" onClick={() => save(`/api/runs/${id}/export/${format}`, `caudal-${id.slice(0, 8)}.${format}`)}>{format}</button>
        ))}
        {overlayId.value && <a class="button" href={`#/compare/${id}/${overlayId.value}`}>Compare the two</a>}
        <button type="button" onClick={() => { if (confirm('Remove this run for good?')) remove(`/api/runs/${id}`).then(() => { location.hash = '#/runs'; }, (cause) => { problem.value = cause.message; }); }}>remove</button>
      </p>
      {text.value && <section><h2>Result</h2><pre class="result" tabIndex={0}>{text.value}</pre></section>}
      <Panels series={[...own, ...other]} version={own.length + other.length} title={title.value || undefined} />
      {figure.value && figure.value.includes('<svg') && <section><h2>Figures of its report</h2><Figure svg={figure.value} label={`The figures of the report on run ${id.slice(0, 8)}; its numbers are in the result above.`} /></section>}
    </div>
  );
}

export function Compare({ a, b }: { a: string; b: string }) {
  const { value: loaded, error } = useLoaded(() => get(`/api/compare?${new URLSearchParams({ a, b })}`), a + b);
  const cells: Json[] = loaded.value?.comparison.cells ?? [];
  return (
    <div>
      <h1>Compared</h1>
      <p><a href={`#/run/${a}`}>A: {a.slice(0, 8)}</a>, <a href={`#/run/${b}`}>B: {b.slice(0, 8)}</a></p>
      <Problem text={error.value} />
      {cells.length > 0 && (
        <div class="scroll" tabIndex={0} role="group" aria-label="Metrics">
          <table>
            <thead><tr><th scope="col">Metric</th><th scope="col">Verdict</th></tr></thead>
            <tbody>{cells.map((cell) => <tr><th scope="row">{cell.case ? `${cell.case}: ` : ''}{cell.metric}</th><td>{cell.verdict}</td></tr>)}</tbody>
          </table>
        </div>
      )}
      {loaded.value?.figure && <Figure svg={loaded.value.figure} label="The differences with their intervals; the table above has them in words." />}
      {loaded.value && <pre tabIndex={0}>{loaded.value.text}</pre>}
    </div>
  );
}
