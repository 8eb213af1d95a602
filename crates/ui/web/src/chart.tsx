// A panel: series of one unit over one axis of time, with its sentence, its values under the pointer, and the table behind it.
import { useEffect, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import uPlot from 'uplot';
import { MEANING, summary, type Panel, type Series } from './model.ts';
import { show, showTime } from './units.ts';

// Colours that differ in lightness too, for eyes that see few, on either background.
const LIGHT = ['#1f5fa8', '#b4530a', '#1a7a4c', '#8a3a9c', '#6b6400', '#a3243b'];
const DARK = ['#7db3f0', '#f0a45c', '#6fd19f', '#d59be3', '#d8cf5a', '#f2899b'];
// All panels of a page share the pointer.
const SYNC = uPlot.sync('time');

export const TITLES: Record<Panel, string> = { throughput: 'Throughput', latency: 'Latency', loss: 'Loss' };

function isDark(): boolean {
  return matchMedia('(prefers-color-scheme: dark)').matches;
}

// The series on one axis of time: each in its own column, with gaps where it has no value.
function aligned(list: Series[]): uPlot.AlignedData {
  const times = [...new Set(list.flatMap((series) => series.at.map((at) => Math.round(at * 100) / 100)))].sort((a, b) => a - b);
  const nth = new Map(times.map((at, index) => [at, index]));
  const columns = list.map((series) => {
    const column: (number | null | undefined)[] = new Array(times.length).fill(undefined);
    series.at.forEach((at, index) => { column[nth.get(Math.round(at * 100) / 100)!] = series.values[index]; });
    return column;
  });
  return [times, ...columns] as uPlot.AlignedData;
}

// Times since 1970 instead of seconds of a test, and moments at which something changed.
export interface Calendar { changes: number[] }

// Draws a line at each moment.
function markers(moments: number[], colour: string): uPlot.Plugin {
  return {
    hooks: {
      draw: (plot) => {
        plot.ctx.save();
        plot.ctx.strokeStyle = colour;
        plot.ctx.setLineDash([6, 6]);
        for (const moment of moments) {
          const x = plot.valToPos(moment, 'x', true);
          plot.ctx.beginPath();
          plot.ctx.moveTo(x, plot.bbox.top);
          plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
          plot.ctx.stroke();
        }
        plot.ctx.restore();
      },
    },
  };
}

export function PanelChart({ panel, series, version, title, calendar }: { panel: Panel; series: Series[]; version: number; title?: string; calendar?: Calendar }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(series);
  const frame = useRef(0);
  const asTable = useSignal(false);
  latest.current = series;
  const names = series.map((one) => one.name).join('\n');

  useEffect(() => {
    if (!box.current || !series.length) return undefined;
    const colours = isDark() ? DARK : LIGHT;
    const ink = isDark() ? '#c9d0d8' : '#3a4149';
    const line = isDark() ? '#333a42' : '#dfe3e8';
    const unit = series[0].unit;
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const width = () => Math.max(box.current?.clientWidth ?? 300, 200);
    plot.current = new uPlot({
      width: width(),
      height: 220,
      plugins: calendar ? [markers(calendar.changes, ink)] : [],
      scales: { x: { time: calendar != null }, y: { range: (_, __, most) => [0, (most || 1) * 1.08] } },
      cursor: { sync: { key: SYNC.key }, drag: { x: true, y: false } },
      axes: [
        calendar ? axis : { ...axis, values: (_, ticks) => ticks.map((tick) => `${tick} s`) },
        { ...axis, size: 90, values: (_, ticks) => ticks.map((tick) => show(tick, unit)) },
      ],
      series: [
        { label: 'time', value: (_, value) => (value == null ? '–' : calendar ? showTime(value * 1000) : `${value.toFixed(2)} s`) },
        ...series.map((one, nth) => ({
          label: one.name,
          stroke: colours[nth % colours.length],
          dash: nth >= colours.length ? [6, 4] : undefined,
          width: 1.6,
          points: { show: calendar != null || one.at.length < 3 },
          value: (_: uPlot, value: number | null) => show(value, one.unit),
        })),
      ],
    }, aligned(latest.current), box.current);
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: width(), height: 220 }));
    observer.observe(box.current);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [names]);

  useEffect(() => {
    // At most once a frame, and not while nobody looks.
    cancelAnimationFrame(frame.current);
    if (!document.hidden) frame.current = requestAnimationFrame(() => plot.current?.setData(aligned(latest.current)));
  }, [version]);

  if (!series.length) return null;
  const sentences = series.map((one) => summary(one, (value) => show(value, one.unit)));
  return (
    <section class="panel">
      <h2>{title ?? TITLES[panel]}</h2>
      <div ref={box} class="plot" role="img" aria-label={`${TITLES[panel]} over time. ${sentences.join('. ')}`} />
      <p class="soft">{MEANING[panel]} Drag to zoom, double-click to see all, click a name to hide its line.</p>
      <details onToggle={(event) => { asTable.value = (event.target as HTMLDetailsElement).open; }}>
        <summary>As a table</summary>
        {asTable.value && (
          <div class="scroll" tabIndex={0} role="group" aria-label={`Values of ${TITLES[panel]}`}>
            <table>
              <thead><tr><th scope="col">Series</th><th scope="col">Mean, lowest, highest</th></tr></thead>
              <tbody>{sentences.map((sentence) => {
                const [name, ...rest] = sentence.split(': ');
                return <tr><th scope="row">{name}</th><td>{rest.join(': ')}</td></tr>;
              })}</tbody>
            </table>
          </div>
        )}
      </details>
    </section>
  );
}

export function Panels({ series, version, title, calendar }: { series: Series[]; version: number; title?: string; calendar?: Calendar }) {
  const panels: Panel[] = ['throughput', 'latency', 'loss'];
  return (
    <>
      {panels.map((panel) => (
        <PanelChart key={panel} panel={panel} version={version} calendar={calendar} series={series.filter((one) => one.panel === panel)}
          title={title ? `${title}: ${TITLES[panel].toLowerCase()}` : undefined} />
      ))}
    </>
  );
}
