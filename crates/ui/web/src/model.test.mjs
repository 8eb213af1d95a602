import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyModel, ofRun, summary, take } from '../build/model.js';

test('intervals of flows become their sum and a series each', () => {
  const model = emptyModel();
  const flow = (id, bps) => ({ id, direction: 'up', start_s: 0, end_s: 1, goodput_bps: bps, tcp: { rtt_us: 2000 } });
  take(model, { event: 'agreed', plan: { end: { time_ns: 5e9 } } });
  take(model, { event: 'interval', repeat: 1, flows: [flow(0, 10), flow(1, 30)] });
  assert.deepEqual(model.series.get('upload').values, [40]);
  assert.deepEqual(model.series.get('upload, flow 1').values, [30]);
  assert.deepEqual(model.series.get('round trip, flow 0').values, [2]);
  assert.equal(model.planned, 5);
  assert.match(summary(model.series.get('upload'), String), /highest 40/);
});

test('a recorded run gives the series that its events gave', () => {
  const interval = { start_s: 0, end_s: 1, goodput_bps: 7 };
  const live = emptyModel();
  take(live, { event: 'interval', flows: [{ ...interval, id: 0, direction: 'down' }] });
  const recorded = ofRun({ flows: [{ id: 0, direction: 'down', intervals: [interval] }] });
  assert.deepEqual([...recorded.series], [...live.series]);
});

test('an hour at ten a second stays bounded', () => {
  const model = emptyModel();
  for (let nth = 1; nth <= 100_000; nth += 1) {
    take(model, { event: 'round_trips', end_s: nth / 10, mean_us: nth, max_us: nth, replies: 1, lost: 0 });
  }
  const { at, values } = model.series.get('round trip');
  assert.ok(at.length <= 40_000);
  assert.equal(values.at(-1), 100);
});

test('what is not known is left out, and failures are kept', () => {
  const model = emptyModel();
  take(model, { event: 'of a newer version' });
  take(model, { schema: 'caudal.error/1', error: { message: 'refused' } });
  take(model, { event: 'text', is_note: true, text: '</script>' });
  assert.equal(model.failure, 'refused');
  assert.deepEqual(model.notes, ['</script>']);
  assert.equal(model.series.size, 0);
});
