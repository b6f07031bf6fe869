import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, test } from 'node:test'

import { virtualClock, type VirtualClock } from '../testkit/index.ts'
import { aRoute, serve, until } from '../../test/http/serving.ts'
import { feed, type FeedItem } from './feed.ts'
import { HEARTBEAT_MS, STALL_MS } from './limits.ts'
import { Streaming, type StreamEnd, type StreamTarget } from './streaming.ts'

async function* these(...items: FeedItem[]): AsyncGenerator<FeedItem> {
  yield* items
}

/** Items that come when they are given. */
class Given implements AsyncIterable<string>, AsyncIterator<string> {
  asked = 0
  returned = false
  #resolve: ((item: IteratorResult<string>) => void) | undefined
  #reject: ((error: Error) => void) | undefined;

  [Symbol.asyncIterator](): AsyncIterator<string> {
    return this
  }

  next(): Promise<IteratorResult<string>> {
    this.asked++
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<string>>()
    this.#resolve = resolve
    this.#reject = reject
    return promise
  }

  async return(): Promise<IteratorResult<string>> {
    this.returned = true
    return { done: true, value: undefined }
  }

  give(value: string): void {
    this.#resolve?.({ done: false, value })
  }

  finish(): void {
    this.#resolve?.({ done: true, value: undefined })
  }

  fail(): void {
    this.#reject?.(new Error('broken'))
  }
}

/** A response whose caller takes what is written only when it is told to. */
class Caller extends EventEmitter implements StreamTarget {
  written: string[] = []
  isSlow = false

  write(chunk: string): boolean {
    this.written.push(chunk)
    return !this.isSlow
  }

  get writableLength(): number {
    return this.isSlow ? 1 : 0
  }

  flushHeaders(): void {}

  end(): void {
    this.written.push('END')
  }

  destroy(): void {
    this.written.push('CUT')
  }

  takesAll(): void {
    this.isSlow = false
    this.emit('drain')
  }
}

function streamTo(heartbeat?: string): {
  caller: Caller
  items: Given
  clock: VirtualClock
  ends: StreamEnd[]
  stream: Streaming
} {
  const caller = new Caller()
  const items = new Given()
  const clock = virtualClock()
  const ends: StreamEnd[] = []
  const stream = new Streaming(caller, items, { heartbeat, clock, onEnd: (how) => ends.push(how) })
  return { caller, items, clock, ends, stream }
}

const turn = (): Promise<void> => until(() => true).then(() => Promise.resolve())

describe('a feed', () => {
  const items = these.bind(undefined, { id: '7', event: 'sold', data: { a: 'b\nc' } }, { data: 2 })
  const routes = [
    aRoute({ path: '/feed', handle: ({ headers }) => feed(headers['accept'], items()) }),
  ]

  test('is server-sent events for who asks for them', async () => {
    const answer = await serve(routes).http.inject({
      url: '/feed',
      headers: { accept: 'text/event-stream, */*' },
    })
    assert.equal(answer.headers['content-type'], 'text/event-stream')
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.text, 'id: 7\nevent: sold\ndata: {"a":"b\\nc"}\n\ndata: 2\n\n')
  })

  test('is a line of JSON for each item to everybody else', async () => {
    const answer = await serve(routes).http.inject({ url: '/feed' })
    assert.equal(answer.headers['content-type'], 'application/x-ndjson')
    assert.equal(answer.text, '{"a":"b\\nc"}\n2\n')
  })

  test('cannot be broken out of by an id or a name', async () => {
    for (const item of [
      { id: 'a\nb', data: 1 },
      { event: 'a\rb', data: 1 },
      { id: '\0', data: 1 },
    ]) {
      const { stream } = feed('text/event-stream', these(item))
      await assert.rejects(async () => {
        for await (const _ of stream ?? []) assert.fail('nothing is written')
      })
    }
  })

  test('ends when the server drains, and counts as one request', async () => {
    const given = new Given()
    let signal: AbortSignal | undefined
    const { http } = serve([
      aRoute({
        path: '/live',
        handle(call) {
          signal = call.signal
          return { status: 200, stream: given }
        },
      }),
    ])
    const answer = http.inject({ url: '/live' })
    await until(() => given.asked === 1)
    given.give('one\n')
    await until(() => given.asked === 2)
    http.beginDraining()
    assert.equal((await answer).text, 'one\n')
    assert.ok(given.returned && signal?.aborted)
    const counted = http.metrics().find(({ name }) => name === 'flytower_http_requests_total')
    assert.equal(counted?.samples.length, 1)
  })

  test('is not begun for somebody who wants the head alone', async () => {
    const given = new Given()
    const { http } = serve([
      aRoute({ path: '/live', handle: () => ({ status: 200, stream: given }) }),
    ])
    assert.equal((await http.inject({ method: 'HEAD', url: '/live' })).status, 200)
    assert.equal(given.asked, 0)
  })
})

describe('a stream', () => {
  test('asks for an item when the caller has taken those before, and never for more than one', async () => {
    const { caller, items } = streamTo()
    assert.equal(items.asked, 1)
    caller.isSlow = true
    items.give('a')
    await turn()
    assert.deepEqual([caller.written, items.asked], [['a'], 1])
    caller.takesAll()
    assert.equal(items.asked, 2)
    items.give('b')
    await turn()
    assert.deepEqual([caller.written, items.asked], [['a', 'b'], 3])
  })

  test('ends with its items', async () => {
    const { caller, items, ends, clock } = streamTo()
    items.finish()
    await turn()
    assert.deepEqual([caller.written, ends, clock.next], [['END'], ['complete'], undefined])
  })

  test('that breaks is cut, so that it does not look complete', async () => {
    const { caller, items, ends } = streamTo()
    items.fail()
    await turn()
    assert.deepEqual([caller.written, ends], [['CUT'], ['failed']])
  })

  test('that is ended does not wait for an item, and writes none that comes later', async () => {
    const { caller, items, ends, stream } = streamTo()
    stream.end()
    stream.end()
    items.give('late')
    await turn()
    assert.deepEqual([caller.written, ends, items.returned], [['END'], ['ended'], true])
  })

  test('stops when the caller leaves', async () => {
    const { caller, items, ends, clock } = streamTo('beat')
    caller.emit('close')
    assert.deepEqual([ends, items.returned, clock.next], [['left'], true, undefined])
  })

  test('beats when it has been silent, and only then', async () => {
    const { caller, items, clock } = streamTo('beat')
    clock.advance(HEARTBEAT_MS - 1)
    assert.deepEqual(caller.written, [])
    clock.advance(1)
    assert.deepEqual(caller.written, ['beat'])
    clock.advance(HEARTBEAT_MS / 2)
    items.give('a')
    await turn()
    clock.advance(HEARTBEAT_MS / 2)
    assert.deepEqual(caller.written, ['beat', 'a'])
    clock.advance(HEARTBEAT_MS)
    assert.deepEqual(caller.written, ['beat', 'a', 'beat'])
  })

  test('is cut when the caller takes nothing for too long, and not before', async () => {
    const { caller, items, clock, ends } = streamTo('beat')
    caller.isSlow = true
    items.give('a')
    await turn()
    clock.advance(STALL_MS - 1)
    assert.deepEqual(caller.written, ['a'])
    clock.advance(1)
    assert.deepEqual([caller.written, ends], [['a', 'CUT'], ['stalled']])
  })
})
