// The tests of watched paths over days, with the times at which their results changed.
import { get } from './api.ts';
import { Panels } from './chart.tsx';
import type { Json, Series } from './model.ts';
import { Problem, useLoaded } from './parts.tsx';
import { showTime } from './units.ts';

function series(points: Json[]): Series[] {
  const all: Series[] = [
    { name: 'download', unit: 'bit/s', panel: 'throughput', at: [], values: [] },
    { name: 'upload', unit: 'bit/s', panel: 'throughput', at: [], values: [] },
    { name: 'round trip', unit: 'ms', panel: 'latency', at: [], values: [] },
    { name: 'lost', unit: '%', panel: 'loss', at: [], values: [] },
  ];
  for (const point of points) {
    const values = [point.down_bps, point.up_bps, point.rtt_us == null ? null : point.rtt_us / 1e3, point.loss == null ? null : point.loss * 100];
    values.forEach((value, nth) => {
      if (value == null) return;
      all[nth].at.push(point.at_s);
      all[nth].values.push(value);
    });
  }
  return all.filter((one) => one.at.length > 0);
}

export function Watched({ name }: { name: string | null }) {
  const { value: list, error } = useLoaded(() => get('/api/runs?limit=1'), 0);
  const { value: tests, error: why } = useLoaded(() => (name ? get(`/api/watched/${encodeURIComponent(name)}`) : Promise.resolve(null)), name);
  const names = ((list.value?.tags ?? []) as string[]).filter((tag) => tag.startsWith('watch:')).map((tag) => tag.slice('watch:'.length));
  const changes: number[] = tests.value?.changes_s ?? [];
  return (
    <div>
      <h1>Watched paths</h1>
      <Problem text={error.value || why.value} />
      <ul class="plain">{names.map((one) => <li><a href={`#/watched/${encodeURIComponent(one)}`} aria-current={one === name ? 'true' : undefined}>{one}</a></li>)}</ul>
      {list.value && !names.length && <p>No path is watched: <code>caudal watch HOST</code> measures one again and again.</p>}
      {tests.value && (
        <section>
          <h2>{name}</h2>
          <p>{tests.value.points.length} tests with a result, {tests.value.failed} without. {changes.length
            ? `It changed at ${changes.map((at) => `${showTime(at * 1000)} UTC`).join(', ')}: dashed lines.`
            : 'No change is shown by them.'}</p>
          <Panels series={series(tests.value.points)} version={tests.value.points.length} calendar={{ changes }} />
        </section>
      )}
    </div>
  );
}
