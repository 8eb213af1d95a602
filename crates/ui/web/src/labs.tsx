// Networks on this machine: built, drawn, changed while traffic runs.
import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { get, post } from './api.ts';
import type { Json } from './model.ts';
import { Field, Problem, useLoaded } from './parts.tsx';
import { show } from './units.ts';

export function Labs({ name }: { name: string | null }) {
  const { value: list, error, again } = useLoaded(() => get('/api/labs'), 0);
  const preset = useSignal('pair');
  const newName = useSignal('lab');
  const problem = useSignal('');
  const up = async () => {
    try { await post('/api/labs/up', { preset: preset.value, name: newName.value }); again(); location.hash = `#/labs/${newName.value}`; } catch (cause) { problem.value = (cause as Error).message; }
  };
  return (
    <div>
      <h1>Labs</h1>
      <Problem text={error.value || problem.value} />
      <div class="filters">
        <Field label="preset"><select value={preset.value} onChange={(event) => { preset.value = event.currentTarget.value; }}>
          {(list.value?.presets ?? []).map((one: string) => <option>{one}</option>)}
        </select></Field>
        <Field label="name"><input type="text" value={newName.value} onInput={(event) => { newName.value = event.currentTarget.value; }} /></Field>
        <button type="button" class="main" onClick={up}>Build it</button>
      </div>
      <ul class="plain">{(list.value?.labs ?? []).map((one: Json) => (
        <li><a href={`#/labs/${one.name}`}>{one.name}</a> <span class="soft">{one.title}; hosts {one.hosts.map(([host]: [string]) => host).join(', ')}</span></li>
      ))}</ul>
      {list.value && !list.value.labs.length && <p>No lab is up.</p>}
      {name && <Lab key={name} name={name} gone={() => { again(); location.hash = '#/labs'; }} />}
    </div>
  );
}

function Lab({ name, gone }: { name: string; gone: () => void }) {
  const seen = useSignal<Json>(null);
  const before = useSignal<Record<string, [number, number]>>({});
  const rates = useSignal<Record<string, number>>({});
  const problem = useSignal('');
  const host = useSignal('h2');
  useEffect(() => {
    let isCurrent = true;
    const look = async () => {
      while (isCurrent) {
        if (!document.hidden) {
          try {
            const answer = await get(`/api/labs/${name}`);
            if (!isCurrent) return;
            const now = performance.now();
            const last: Record<string, [number, number]> = {};
            const next: Record<string, number> = {};
            for (const link of answer.stats.links) {
              for (const way of ['forward', 'backward']) {
                const bytes = link[way]?.delivered?.bytes ?? 0;
                const [was, at] = before.value[link.name + way] ?? [bytes, now];
                next[link.name + way] = now > at ? ((bytes - was) * 8000) / (now - at) : 0;
                last[link.name + way] = [bytes, now];
              }
            }
            before.value = last;
            rates.value = next;
            seen.value = answer;
            problem.value = '';
          } catch (cause) { problem.value = (cause as Error).message; }
        }
        await new Promise((done) => { setTimeout(done, 1000); });
      }
    };
    look();
    return () => { isCurrent = false; };
  }, [name]);
  const serve = () => post(`/api/labs/${name}/serve`, { host: host.value }).then(() => { problem.value = ''; }, (cause) => { problem.value = cause.message; });
  const down = () => post(`/api/labs/${name}/down`).then(gone, (cause) => { problem.value = cause.message; });
  return (
    <section>
      <h2>{name}</h2>
      <Problem text={problem.value} />
      {seen.value && <pre tabIndex={0} aria-label="The network">{seen.value.drawn}</pre>}
      {(seen.value?.stats.links ?? []).map((link: Json) => <Link key={link.name} lab={name} link={link} rates={rates.value} />)}
      <div class="filters">
        <Field label="serve on" hint="Starts `caudal serve` on that host, for tests from another (Measure, from)."><input type="text" value={host.value} onInput={(event) => { host.value = event.currentTarget.value; }} /></Field>
        <button type="button" onClick={serve}>Start a server there</button>
        <button type="button" onClick={down}>Take it down</button>
      </div>
    </section>
  );
}

function Link({ lab, link, rates }: { lab: string; link: Json; rates: Record<string, number> }) {
  const rate = useSignal('');
  const delay = useSignal('');
  const loss = useSignal('');
  const problem = useSignal('');
  const change = (event: Event) => {
    event.preventDefault();
    post(`/api/labs/${lab}/set`, { link: link.name, rate: rate.value, delay: delay.value, loss: loss.value })
      .then(() => { problem.value = ''; }, (cause) => { problem.value = cause.message; });
  };
  const dropped = (way: Json) => Object.values(way?.dropped ?? {}).reduce((sum: number, one) => sum + Number((one as Json).frames ?? one), 0);
  return (
    <form class="link" onSubmit={change}>
      <h3>{link.name}: {link.between?.join(' – ')}</h3>
      <div class="scroll" tabIndex={0} role="group" aria-label={`Counters of ${link.name}`}>
        <table>
          <thead><tr><td /><th scope="col">Rate of the link</th><th scope="col">Carries now</th><th scope="col">Frames</th><th scope="col">In the queue</th><th scope="col">Dropped</th></tr></thead>
          <tbody>{['forward', 'backward'].map((way) => (
            <tr>
              <th scope="row">{way === 'forward' ? '→' : '←'} {link.between?.[way === 'forward' ? 1 : 0]}</th>
              <td>{show(link[way]?.rate_bps, 'bit/s')}</td>
              <td>{show(rates[link.name + way], 'bit/s')}</td>
              <td>{link[way]?.delivered?.frames}</td>
              <td>{link[way]?.queue?.frames?.level}</td>
              <td>{dropped(link[way])}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
      <div class="filters">
        <Field label={`rate of ${link.name}`}><input type="text" placeholder="10M" value={rate.value} onInput={(event) => { rate.value = event.currentTarget.value; }} /></Field>
        <Field label={`delay of ${link.name}`}><input type="text" placeholder="20ms" value={delay.value} onInput={(event) => { delay.value = event.currentTarget.value; }} /></Field>
        <Field label={`loss of ${link.name}`}><input type="text" placeholder="1%" value={loss.value} onInput={(event) => { loss.value = event.currentTarget.value; }} /></Field>
        <button type="submit">Change {link.name}</button>
      </div>
      <Problem text={problem.value} />
    </form>
  );
}
