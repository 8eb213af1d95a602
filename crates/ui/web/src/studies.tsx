// Experiments: those that come with the program, edited, checked as one types, and run.
import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { get, getText, post } from './api.ts';
import type { Json } from './model.ts';
import { Field, Problem, useLoaded } from './parts.tsx';
import { counted } from './units.ts';

export function Studies() {
  const { value: list, error } = useLoaded(() => get('/api/studies'), 0);
  const { value: done } = useLoaded(() => get('/api/runs?kind=study'), 0);
  const name = useSignal('');
  const text = useSignal('');
  const original = useSignal('');
  const isQuick = useSignal(true);
  const check = useSignal<Json>(null);
  const problem = useSignal('');
  const open = async (chosen: string) => {
    name.value = chosen;
    try { text.value = await getText(`/api/studies/text/${chosen}`); original.value = text.value; problem.value = ''; setTimeout(() => document.getElementById('experiment')?.scrollIntoView(), 0); } catch (cause) { problem.value = (cause as Error).message; }
  };
  useEffect(() => {
    if (!text.value) return undefined;
    const timer = setTimeout(() => {
      post('/api/studies/check', { text: text.value }).then((answer) => { check.value = answer; }, (cause) => { problem.value = cause.message; });
    }, 500);
    return () => clearTimeout(timer);
  }, [text.value]);
  const run = async () => {
    const subject = text.value === original.value ? { name: name.value } : { text: text.value };
    try { const job = await post('/api/studies/run', { ...subject, quick: isQuick.value }); location.hash = `#/measure/${job.id}`; } catch (cause) { problem.value = (cause as Error).message; }
  };
  const resume = (id: string) => post(`/api/studies/resume/${id}`).then((job) => { location.hash = `#/measure/${job.id}`; }, (cause) => { problem.value = cause.message; });
  return (
    <div>
      <h1>Studies</h1>
      <Problem text={error.value || problem.value} />
      {done.value?.entries.length > 0 && (
        <section><h2>Recorded</h2><ul class="plain">{done.value.entries.map((study: Json) => (
          <li><a href={`#/run/${study.id}`}>{study.title ?? study.name}</a> <span class="soft">{study.outcome}, {counted(study.trials ?? 0, 'trial')}</span>{' '}
            {study.outcome !== 'done' && <button type="button" class="small" onClick={() => resume(study.id)}>go on with it</button>}</li>
        ))}</ul></section>
      )}
      <h2>Experiments</h2>
      <ul class="plain">{(list.value ?? []).map((one: Json) => (
        <li><button type="button" class="small" onClick={() => open(one.name)}>{one.name}</button> {one.title} <span class="soft">quick: {counted(one.quick.cases, 'case')}, {Math.round(one.quick.time_s.most)} s</span></li>
      ))}</ul>
      {text.value && (
        <section id="experiment">
          <h2>{name.value}</h2>
          <Field label="the experiment" hint="Edit it; it is checked as you type, and only a run changes anything.">
            <textarea rows={22} spellcheck={false} value={text.value} onInput={(event) => { text.value = event.currentTarget.value; }} />
          </Field>
          {check.value && <pre tabIndex={0} class={check.value.is_right ? '' : 'problem'} role="status">{check.value.is_right ? check.value.text : check.value.why}</pre>}
          <label class="check"><input type="checkbox" checked={isQuick.value} onChange={(event) => { isQuick.value = event.currentTarget.checked; }} /> <span>fewer and shorter trials</span></label>
          <p><button type="button" class="main" disabled={check.value != null && !check.value.is_right} onClick={run}>Run</button></p>
        </section>
      )}
    </div>
  );
}
