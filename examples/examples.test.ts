/** Every example goes through and shows what it says. The examples judge themselves as well. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { inbox, stage } from '../src/testkit/index.ts'
import * as pipeline from './back-pressure-pipeline.ts'
import * as counter from './counter.ts'
import * as pingPong from './ping-pong.ts'
import * as rateLimited from './rate-limited-worker.ts'
import * as crawler from './supervised-crawler.ts'
import * as trafficLight from './traffic-light.ts'

type Example = Readonly<{ title: string; show(print: (line: string) => void): Promise<void> }>

async function shown(example: Example): Promise<string[]> {
  const lines: string[] = []
  await example.show((line) => lines.push(line.trim()))
  return lines
}

describe('the examples', () => {
  test('counter: everything told before the question is counted', async () => {
    assert.deepEqual(await shown(counter), [
      'told /visits to add 1, 2, … 100, then asked: 5050',
      'told it once more after its end: actor-stopped, 1 dead letter',
    ])
  })

  test('ping-pong: whoever is left alone is told', async () => {
    const [learns, hits] = await shown(pingPong)
    assert.equal(learns, '/pong learns that /ping ended: stopped')
    assert.match(hits ?? '', /^100000 hits in \d+ ms/)
  })

  test('traffic light: every transition is followed by its enter', async () => {
    assert.deepEqual(await shown(trafficLight), [
      'at  0 s  enter red',
      'at 20 s  red → green',
      'at 20 s  enter green',
      'at 35 s  green → amber',
      'at 35 s  enter amber',
      'at 38 s  amber → red',
      'at 38 s  enter red',
    ])
  })

  test('rate-limited worker: three jobs, then a rest', async () => {
    assert.deepEqual(await shown(rateLimited), [
      'at    0 ms  jobs 1, 2, 3',
      'at 1000 ms  jobs 4, 5, 6',
      'at 2000 ms  jobs 7, 8, 9',
      'at 3000 ms  jobs 10',
      'suspended 3 times, 3000 ms in all',
    ])
  })

  test('supervised crawler: pauses double, and the watcher learns the cause', async () => {
    assert.deepEqual(await shown(crawler), [
      '/spider/news failed at 0, 100 ms',
      '/spider/archive failed at 0, 100, 300, 700 ms',
      'read: about, home, news',
      'lost: archive, restart-limit, Error: 500 internal server error',
    ])
  })

  test('back-pressure pipeline: the source waits and nothing is lost', async () => {
    const [source, parser, stored] = await shown(pipeline)
    assert.match(source ?? '', /^\/source waited for room \d+ times, \d+ % of the time$/)
    assert.match(parser ?? '', /^\/parser waited for room \d+ times, \d+ % of the time$/)
    assert.equal(stored, '5000 of 5000 records stored, in order')
  })
})

describe('the actors of the examples, on stage', () => {
  test('a counter answers with its sum', () => {
    const subject = stage(counter.counter())
    const sum = inbox<number>('sum')

    subject.tell({ type: 'add', amount: 2 })
    subject.tell({ type: 'add', amount: 3 })
    subject.tell({ type: 'read', replyTo: sum })

    sum.expect(5)
    sum.expectEmpty()
  })

  test('a light can be placed in the middle, and a second press changes nothing', () => {
    const subject = stage<trafficLight.LightMessage, trafficLight.Light>(
      trafficLight.trafficLight(),
    )
    subject.place('green', { presses: 0 })
    subject.enter()

    subject.tell({ type: 'pressed' })
    subject.advance(4_000)
    subject.tell({ type: 'pressed' })
    subject.advance(999)
    assert.equal(subject.state, 'green')
    subject.advance(1)
    assert.equal(subject.state, 'amber')
  })

  test('a crawler takes whatever reader it is handed', () => {
    const reports = inbox<crawler.Report>('reports')
    const none = crawler.pageReader(() => Promise.reject(new Error('offline')))
    const subject = stage(crawler.crawler(none, reports))

    subject.tell({ type: 'visit', page: 'home' })

    assert.deepEqual(
      subject.children.map(({ path }) => path),
      ['/subject/home'],
    )
    reports.expectEmpty()
  })
})
