import { expect, test } from 'bun:test'
import { joinedMetrics } from '../../../server/compose/cluster/joined-metrics'

/** Issue 23: one scrape of a node that has several cells. */
test('the metrics of several gateways are one text, in which each sample names its cell and each metric is described once', () => {
  const text = (calls: number) =>
    [
      '# HELP calls_total Calls by operation.',
      '# TYPE calls_total counter',
      `calls_total{operation="web {search} }",result="ok"} ${calls}`,
      `calls_total{operation="chat",result="ok"} 1`,
      '',
      '# HELP ready Whether it is ready.',
      '# TYPE ready gauge',
      'ready 1',
      '',
    ].join('\n')
  expect(
    joinedMetrics([
      { cell: 'main', text: text(3) },
      { cell: 'c2', text: text(4) },
    ]).split('\n'),
  ).toEqual([
    '# HELP calls_total Calls by operation.',
    '# TYPE calls_total counter',
    'calls_total{cell="main",operation="web {search} }",result="ok"} 3',
    'calls_total{cell="main",operation="chat",result="ok"} 1',
    'calls_total{cell="c2",operation="web {search} }",result="ok"} 4',
    'calls_total{cell="c2",operation="chat",result="ok"} 1',
    '',
    '# HELP ready Whether it is ready.',
    '# TYPE ready gauge',
    'ready{cell="main"} 1',
    'ready{cell="c2"} 1',
    '',
  ])
})
