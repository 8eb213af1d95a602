// The pages, by the part of the address behind `#`.
import { render } from 'preact';
import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import 'uplot/dist/uPlot.min.css';
import './app.css';
import { isDenied, isGone, get, keepToken, post, takeToken } from './api.ts';
import { Field, Problem } from './parts.tsx';
import { Capture, Captures } from './captures.tsx';
import { Labs } from './labs.tsx';
import { Measure } from './measure.tsx';
import { Compare, RunPage, Runs } from './runs.tsx';
import { Studies } from './studies.tsx';
import { Watched } from './watched.tsx';

takeToken();
const place = signal(location.hash);
addEventListener('hashchange', () => {
  takeToken();
  place.value = location.hash;
  document.getElementById('main')?.focus();
});

const PAGES: [string, string][] = [['measure', 'Measure'], ['runs', 'Runs'], ['watched', 'Watched'], ['captures', 'Captures'], ['studies', 'Studies'], ['labs', 'Labs']];

function Page() {
  const [, page, one, other] = place.value.split('/').map(decodeURIComponent);
  switch (page) {
    case 'runs': return <Runs />;
    case 'run': return <RunPage key={one} id={one ?? ''} />;
    case 'compare': return <Compare key={one + other} a={one ?? ''} b={other ?? ''} />;
    case 'watched': return <Watched key={one ?? ''} name={one ?? null} />;
    case 'captures': return <Captures />;
    case 'capture': return <Capture key={one ?? ''} nth={one ?? ''} />;
    case 'studies': return <Studies />;
    case 'labs': return <Labs name={one ?? null} />;
    default: return <Measure key={one ?? ''} job={one ?? null} />;
  }
}

// From elsewhere a password gives the token.
function Login() {
  const password = useSignal('');
  const problem = useSignal('');
  const login = async (event: Event) => {
    event.preventDefault();
    try {
      keepToken((await post('/api/login', { password: password.value })).token);
      location.reload();
    } catch (cause) { problem.value = (cause as Error).message; }
  };
  return (
    <form onSubmit={login}>
      <h1>Log in</h1>
      <Field label="password"><input type="password" autocomplete="current-password" value={password.value} onInput={(event) => { password.value = event.currentTarget.value; }} /></Field>
      <Problem text={problem.value} />
      <p><button type="submit" class="main">Log in</button></p>
    </form>
  );
}

function App() {
  useEffect(() => {
    // A server that has gone is asked again until it is back.
    const timer = setInterval(() => { if (isGone.value) get('/api/jobs').catch(() => {}); }, 1000);
    return () => clearInterval(timer);
  }, []);
  const current = place.value.split('/')[1] || 'measure';
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById('main')?.focus(); }}>To the content</a>
      <header>
        <b class="name">caudal</b>
        <nav aria-label="Pages">{PAGES.map(([path, title]) => (
          <a href={`#/${path}`} aria-current={current === path || (path === 'runs' && ['run', 'compare'].includes(current)) || (path === 'captures' && current === 'capture') ? 'page' : undefined}>{title}</a>
        ))}</nav>
      </header>
      {isGone.value && <p class="problem banner" role="alert">The server does not answer: <code>caudal ui</code> was ended, or is busy. This page goes on when it is back.</p>}
      {isDenied.value && location.protocol === 'http:' && <p class="problem banner" role="alert">The token is missing or wrong: open the address that <code>caudal ui</code> printed.</p>}
      <main id="main" tabIndex={-1}>{isDenied.value && location.protocol === 'https:' ? <Login /> : <Page />}</main>
    </>
  );
}

render(<App />, document.getElementById('app')!);
