import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { lineLog, silentLog, type Log, type LogLevel } from './log.ts'

function collected(level: LogLevel = 'debug'): { log: Log; lines: string[] } {
  const lines: string[] = []
  const log = lineLog((line) => lines.push(line), { level, clock: { now: () => 1_000 } })
  return { log, lines }
}

describe('line log', () => {
  test('writes one JSON object a line, head first', () => {
    const { log, lines } = collected()

    log.warn('two\nlines', { queue: 'orders', depth: 3 })

    assert.deepEqual(lines, [
      '{"at":1000,"level":"warn","message":"two\\nlines","queue":"orders","depth":3}',
    ])
  })

  test('leaves out what is below its level', () => {
    const { log, lines } = collected('warn')

    for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level](level)

    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { message: string }).message),
      ['warn', 'error'],
    )
  })

  test('a child says its fields in every line, and the nearest wins', () => {
    const { log, lines } = collected()

    const child = log.child({ system: 's', actor: '/a' }).child({ actor: '/a/b' })
    child.info('up', { actor: '/own' })
    child.info('down')
    log.info('other')

    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as unknown),
      [
        { at: 1_000, level: 'info', message: 'up', system: 's', actor: '/own' },
        { at: 1_000, level: 'info', message: 'down', system: 's', actor: '/a/b' },
        { at: 1_000, level: 'info', message: 'other' },
      ],
    )
  })

  test('a field cannot pretend to be the head', () => {
    const { log, lines } = collected()

    log.error('real', { level: 'debug', message: 'fake', at: 0 })

    assert.equal(
      lines[0],
      '{"at":1000,"level":"error","message":"real","at_":0,"level_":"debug","message_":"fake"}',
    )
  })

  test('survives hostile fields and stays one line', () => {
    const { log, lines } = collected()
    const loop: Record<string, unknown> = {}
    loop['self'] = loop
    const hostile = {
      loop,
      big: 1n,
      get trap() {
        return assert.fail('getter')
      },
      json: { toJSON: () => assert.fail('toJSON') },
    }

    log.info('hostile', hostile)
    log.child(hostile).info('inherited')
    log.info(undefined as unknown as string, null as unknown as { a: 1 })

    assert.equal(lines.length, 3)
    for (const line of lines) {
      assert.equal(line.includes('\n'), false)
      JSON.parse(line)
    }
  })

  test('survives a sink that throws', () => {
    const log = lineLog(() => assert.fail('disk full'))
    log.error('nobody hears this')
  })

  test('the silent log takes everything and says nothing', () => {
    silentLog.child({ a: 1 }).error('nothing')
  })
})
