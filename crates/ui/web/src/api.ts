// Requests to the server that gave these pages: with the token, which came in the fragment and is kept for this tab alone.
import type { Json } from './model.ts';
import { signal } from '@preact/signals';

const KEY = 'caudal-token';

// `true` while the server does not answer.
export const isGone = signal(false);
export const isDenied = signal(false);

export function takeToken(): void {
  const given = /^#t=([0-9a-f]{32})(?:\/?(#\/.*))?$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem(KEY, given[1]);
    history.replaceState(null, '', location.pathname + (given[2] ?? '#/measure'));
  }
}

export function keepToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}

function headers(): Record<string, string> {
  return { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ''}` };
}

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers: { ...headers(), ...init.headers } });
  } catch (error) {
    if ((error as Error).name !== 'AbortError') isGone.value = true;
    throw error;
  }
  isGone.value = false;
  if (path !== '/api/login') isDenied.value = response.status === 401;
  if (!response.ok) {
    const text = await response.text();
    let why = text.trim() || response.statusText;
    try { why = JSON.parse(text).why ?? why; } catch { /* it is no JSON */ }
    throw new Error(why);
  }
  return response;
}

export async function get(path: string): Promise<Json> {
  return (await ask(path)).json();
}

export async function getText(path: string): Promise<string> {
  return (await ask(path)).text();
}

export async function post(path: string, body: Json = {}): Promise<Json> {
  const response = await ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });
  return response.status === 204 || response.headers.get('content-length') === '0' ? null : response.json().catch(() => null);
}

export async function remove(path: string): Promise<void> {
  await ask(path, { method: 'DELETE' });
}

export async function upload(path: string, file: Blob): Promise<Json> {
  return (await ask(path, { method: 'POST', body: file, headers: { 'Content-Type': 'application/octet-stream' } })).json();
}

// Saves what the server exports; a link could not carry the token.
export async function save(path: string, name: string): Promise<void> {
  const content = await (await ask(path)).blob();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Reads the lines of a job from number `from` on, and goes on where the connection was lost. Ends with the job, or when aborted.
export async function follow(id: number, abort: AbortSignal, lines: (events: Json[]) => void, over: (job: Json) => void): Promise<void> {
  let last = '';
  while (!abort.aborted) {
    try {
      const response = await ask(`/api/jobs/${id}/events`, { signal: abort, headers: last ? { 'Last-Event-ID': last } : {} });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const parts = (rest + value).split('\n\n');
        rest = parts.pop() ?? '';
        for (const part of parts) {
          const field = (name: string) => part.split('\n').filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2)).join('\n');
          if (field('id')) last = field('id');
          if (field('event') === 'lines') lines(JSON.parse(field('data')));
          if (field('event') === 'over') { over(JSON.parse(field('data'))); return; }
        }
      }
    } catch (error) {
      if (abort.aborted) return;
      if (!(error instanceof TypeError)) throw error;
    }
    await new Promise((done) => { setTimeout(done, 1000); });
  }
}
