// What several pages use.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useSignal, type Signal } from '@preact/signals';

// Something that is asked of the server when a page opens, and again when `key` changes.
export function useLoaded<T>(load: () => Promise<T>, key: unknown): { value: Signal<T | null>; error: Signal<string>; again: () => void } {
  const value = useSignal<T | null>(null);
  const error = useSignal('');
  const round = useSignal(0);
  useEffect(() => {
    let isCurrent = true;
    load().then(
      (loaded) => { if (isCurrent) { value.value = loaded; error.value = ''; } },
      (cause) => { if (isCurrent) error.value = String(cause.message ?? cause); },
    );
    return () => { isCurrent = false; };
  }, [key, round.value]);
  return { value, error, again: () => { round.value += 1; } };
}

export function Problem({ text }: { text: string }) {
  return text ? <p class="problem" role="alert">{text}</p> : null;
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span class="label">{label}</span>
      {children}
      {hint && <span class="soft">{hint}</span>}
    </label>
  );
}

export function Copy({ text }: { text: string }) {
  const isDone = useSignal(false);
  const copy = () => {
    navigator.clipboard?.writeText(text).then(() => {
      isDone.value = true;
      setTimeout(() => { isDone.value = false; }, 1500);
    }, () => {});
  };
  return <button type="button" class="small" onClick={copy}>{isDone.value ? 'copied' : 'copy'}</button>;
}

// The picture of a figure that the server drew: as an image, in which no script runs.
export function Figure({ svg, label }: { svg: string; label: string }) {
  const bytes = new TextEncoder().encode(svg);
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return <img class="figure" src={`data:image/svg+xml;base64,${btoa(text)}`} alt={label} />;
}
