// A form for each command, the command line it equals, and the test while it runs.
import { useEffect, useRef } from 'preact/hooks';
import { signal, useSignal } from '@preact/signals';
import { follow, get, getText, post } from './api.ts';
import { Panels } from './chart.tsx';
import { emptyModel, take, type Json, type Model } from './model.ts';
import { Copy, Field, Problem, useLoaded } from './parts.tsx';

interface Argument {
  name: string; help: string; group: string; is_positional: boolean; takes_value: boolean; is_repeatable: boolean;
  value_name: string; default: string | null; choices: string[]; is_common: boolean;
}
interface Form { name: string; about: string; arguments: Argument[] }

// What the user typed stays while other pages are looked at.
const command = signal('tcp');
// Five intervals a second are what a panel can show; the command line says so.
const typed = signal<Record<string, Record<string, string | boolean>>>({ tcp: { interval: '200ms' }, udp: { interval: '200ms' } });
const lab = signal('');

function given(form: Form): Record<string, string | boolean | string[]> {
  const values: Record<string, string | boolean | string[]> = {};
  for (const argument of form.arguments) {
    const value = typed.value[form.name]?.[argument.name];
    if (value == null || value === '' || value === false) continue;
    values[argument.name] = argument.is_repeatable && typeof value === 'string' ? value.split(',').map((one) => one.trim()) : value;
  }
  return values;
}

function Input({ form, argument }: { form: Form; argument: Argument }) {
  const value = typed.value[form.name]?.[argument.name];
  const set = (next: string | boolean) => {
    typed.value = { ...typed.value, [form.name]: { ...typed.value[form.name], [argument.name]: next } };
  };
  const label = argument.is_positional ? argument.value_name.toLowerCase() : argument.name;
  if (!argument.takes_value) {
    return (
      <label class="check">
        <input type="checkbox" checked={value === true} onChange={(event) => set(event.currentTarget.checked)} />
        <span><b>{label}</b> <span class="soft">{argument.help}</span></span>
      </label>
    );
  }
  return (
    <Field label={label} hint={argument.help}>
      {argument.choices.length ? (
        <select value={String(value ?? '')} onChange={(event) => set(event.currentTarget.value)}>
          <option value="">{argument.default ?? 'default'}</option>
          {argument.choices.filter((choice) => choice !== argument.default).map((choice) => <option value={choice}>{choice}</option>)}
        </select>
      ) : (
        <input type="text" value={String(value ?? '')} placeholder={argument.default ?? argument.value_name} autocomplete="off" spellcheck={false}
          onInput={(event) => set(event.currentTarget.value)} />
      )}
    </Field>
  );
}

export function Measure({ job }: { job: string | null }) {
  const { value: about, error } = useLoaded(() => get('/api/about'), 0);
  const { value: labs } = useLoaded(() => get('/api/labs'), 0);
  const line = useSignal('');
  const wrong = useSignal('');
  const form: Form | undefined = about.value?.forms.find((one: Form) => one.name === command.value);
  const values = form ? given(form) : {};
  const key = JSON.stringify([command.value, values]);

  useEffect(() => {
    if (!form) return undefined;
    const timer = setTimeout(() => {
      post('/api/line', { command: form.name, values }).then(
        (answer) => { line.value = answer.line; wrong.value = ''; },
        (cause) => { wrong.value = cause.message; },
      );
    }, 150);
    return () => clearTimeout(timer);
  }, [key, !form]);

  if (job) return <Running key={job} id={Number(job)} />;
  if (!form) return <Problem text={error.value} />;
  const start = async (event: Event) => {
    event.preventDefault();
    const [name, host] = lab.value.split(' ');
    try {
      const started = await post('/api/tests', { command: form.name, values, lab: lab.value ? { name, host } : null });
      location.hash = `#/measure/${started.id}`;
    } catch (cause) { wrong.value = (cause as Error).message; }
  };
  const common = form.arguments.filter((one) => one.is_common || one.is_positional);
  const rest = form.arguments.filter((one) => !one.is_common && !one.is_positional);
  const groups = [...new Set(rest.map((one) => one.group))];
  const hosts = (labs.value?.labs ?? []).flatMap((one: Json) => one.hosts.map(([host]: [string]) => `${one.name} ${host}`));
  return (
    <form onSubmit={start}>
      <h1>Measure</h1>
      <div class="tabs" role="group" aria-label="What to measure">
        {about.value!.forms.map((one: Form) => (
          <button type="button" aria-pressed={one.name === command.value} onClick={() => { command.value = one.name; }}>{one.name}</button>
        ))}
      </div>
      <p>{form.about}. The host runs <code>caudal serve</code>{form.name === 'path' ? ', or nothing' : ''}.</p>
      <div class="fields">{common.map((argument) => <Input key={form.name + argument.name} form={form} argument={argument} />)}</div>
      {hosts.length > 0 && (
        <Field label="from" hint="This machine, or a host of a lab that is up.">
          <select value={lab.value} onChange={(event) => { lab.value = event.currentTarget.value; }}>
            <option value="">this machine</option>
            {hosts.map((one: string) => <option value={one}>{one}</option>)}
          </select>
        </Field>
      )}
      {groups.map((group) => (
        <details>
          <summary>{group || 'More'}</summary>
          <div class="fields">{rest.filter((one) => one.group === group).map((argument) => <Input key={form.name + argument.name} form={form} argument={argument} />)}</div>
        </details>
      ))}
      <p class="line"><code id="line">{line.value}</code> <Copy text={line.value} /></p>
      <Problem text={wrong.value} />
      <p><button type="submit" class="main" disabled={wrong.value !== ''}>Start</button></p>
      <Jobs />
    </form>
  );
}

function Jobs() {
  const { value: jobs } = useLoaded(() => get('/api/jobs'), 0);
  if (!jobs.value?.length) return null;
  return (
    <section>
      <h2>Started here</h2>
      <ul class="plain">{jobs.value.map((job: Json) => (
        <li><a href={`#/measure/${job.id}`}><code>{job.line}</code></a> <span class="soft">{job.state === 'running' ? 'runs' : `ended with code ${job.code ?? '–'}`}</span></li>
      ))}</ul>
    </section>
  );
}

// A started program: its events while it runs, and its result.
function Running({ id }: { id: number }) {
  const model = useRef<Model>(emptyModel());
  const version = useSignal(0);
  const job = useSignal<Json>(null);
  const text = useSignal('');
  const error = useSignal('');
  useEffect(() => {
    const abort = new AbortController();
    get(`/api/jobs/${id}`).then((found) => { job.value ??= found; }, (cause) => { error.value = cause.message; });
    follow(id, abort.signal, (events) => {
      for (const event of events) take(model.current, event);
      version.value += 1;
    }, (ended) => {
      job.value = ended;
      const run = model.current.run;
      if (run) getText(`/api/runs/${run.id}/text`).then((shown) => { text.value = shown; }, () => {});
      version.value += 1;
    }).catch((cause) => { error.value = cause.message; });
    return () => abort.abort();
  }, [id]);
  void version.value;
  const { series, elapsed, planned, notes, text: lines, failure, run } = model.current;
  const isRunning = job.value?.state === 'running';
  return (
    <div>
      <h1>Test</h1>
      <p class="line"><code>{job.value?.line}</code></p>
      <p role="status">{isRunning ? `Running: ${elapsed.toFixed(1)} s${planned ? ` of ${planned.toFixed(0)} s` : ''}` : job.value ? `Ended${job.value.code ? ` with code ${job.value.code}` : ''}.` : 'Loading …'}</p>
      {planned > 0 && isRunning && <progress max={planned} value={Math.min(elapsed, planned)} aria-label="Progress" />}
      <p class="buttons">
        {isRunning && <button type="button" class="main" onClick={() => post(`/api/jobs/${id}/stop`)}>Stop</button>}
        {run && <a class="button" href={`#/run/${run.id}`}>The recorded run</a>}
        <a class="button" href="#/measure">Another test</a>
      </p>
      <Problem text={error.value || failure || ''} />
      <Panels series={[...series.values()]} version={version.value} />
      {text.value && <section><h2>Result</h2><pre class="result" tabIndex={0}>{text.value}</pre></section>}
      {lines.length > 0 && <section><h2>Output</h2><pre tabIndex={0}>{lines.slice(-400).join('\n')}</pre></section>}
      {notes.length > 0 && <section><h2>Said beside it</h2><pre tabIndex={0}>{notes.slice(-50).join('\n')}</pre></section>}
    </div>
  );
}
