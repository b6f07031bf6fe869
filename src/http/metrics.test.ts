import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { expositionOf } from './metrics.ts'
import { Traffic } from './traffic.ts'

describe('figures for Prometheus', () => {
  test('are written with help, type, labels and values', () => {
    const text = expositionOf([
      {
        name: 'a_total',
        help: 'What\nit \\ is.',
        type: 'counter',
        samples: [{ value: 1 }, { labels: { path: 'a"b\\c\nd', x: 'y' }, value: 2.5 }],
      },
      { name: 'b', help: 'B.', type: 'gauge', samples: [{ value: -Infinity }, { value: NaN }] },
      { name: 'c', help: 'C.', type: 'gauge', samples: [] },
    ])
    assert.equal(
      text,
      [
        String.raw`# HELP a_total What\nit \\ is.`,
        '# TYPE a_total counter',
        'a_total 1',
        String.raw`a_total{path="a\"b\\c\nd",x="y"} 2.5`,
        '# HELP b B.',
        '# TYPE b gauge',
        'b -Inf',
        'b NaN',
        '# HELP c C.',
        '# TYPE c gauge',
        '',
      ].join('\n'),
    )
    assert.equal(expositionOf([]), '')
  })

  test('of a distribution end in one bucket for everything', () => {
    const text = expositionOf([
      {
        name: 'd',
        help: 'D.',
        type: 'histogram',
        samples: [
          {
            labels: { r: '/' },
            buckets: [
              [0.1, 1],
              [1, 3],
            ],
            sum: 4.5,
            count: 4,
          },
        ],
      },
    ])
    assert.deepEqual(text.split('\n').slice(2), [
      'd_bucket{r="/",le="0.1"} 1',
      'd_bucket{r="/",le="1"} 3',
      'd_bucket{r="/",le="+Inf"} 4',
      'd_sum{r="/"} 4.5',
      'd_count{r="/"} 4',
      '',
    ])
  })
})

describe('traffic', () => {
  test('counts an answer in its class and at the end of its bucket', () => {
    const traffic = new Traffic()
    const route = traffic.of({ path: '/a', method: 'GET' })
    traffic.of({ path: '/never', method: 'GET' })
    for (const [status, tookMs] of [
      [200, 0.5],
      [204, 1],
      [404, 1.01],
      [503, 10_000],
      [200, 10_001],
    ] as const)
      route.count(status, tookMs)
    traffic.refused('draining')
    traffic.refused('draining')
    const text = expositionOf(traffic.metrics())
    for (const line of [
      'flytower_http_requests_total{route="/a",method="GET",status="2xx"} 3',
      'flytower_http_requests_total{route="/a",method="GET",status="4xx"} 1',
      'flytower_http_requests_total{route="/a",method="GET",status="5xx"} 1',
      'flytower_http_request_duration_seconds_bucket{route="/a",method="GET",le="0.001"} 2',
      'flytower_http_request_duration_seconds_bucket{route="/a",method="GET",le="0.0025"} 3',
      'flytower_http_request_duration_seconds_bucket{route="/a",method="GET",le="10"} 4',
      'flytower_http_request_duration_seconds_bucket{route="/a",method="GET",le="+Inf"} 5',
      'flytower_http_request_duration_seconds_count{route="/a",method="GET"} 5',
      'flytower_http_refusals_total{code="draining"} 2',
      'flytower_http_requests_in_flight 0',
    ])
      assert.ok(text.includes(`${line}\n`), line)
    assert.ok(!text.includes('/never'), 'a route that was never asked is no series')
  })
})
