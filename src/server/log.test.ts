import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { serverLog } from './log.ts'
import type { LogLevel } from '../std/index.ts'

function logged(
  work: (log: ReturnType<typeof serverLog>) => void,
  level: LogLevel = 'debug',
): Record<string, unknown>[] {
  const lines: string[] = []
  work(serverLog({ level, format: 'json', write: (line) => lines.push(line) }))
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('the log of the server', () => {
  test('writes a JSON object a line, with time, level, msg and what it was given', () => {
    const [line, ...more] = logged((log) =>
      log
        .child({ component: 'http', traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) })
        .info('served', { status: 200 }),
    )
    assert.match(String(line!['time']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.deepEqual(
      { ...line, time: undefined },
      {
        time: undefined,
        level: 'info',
        msg: 'served',
        component: 'http',
        traceId: 'a'.repeat(32),
        spanId: 'b'.repeat(16),
        status: 200,
      },
    )
    assert.deepEqual(more, [])
  })

  test('leaves out what is below its level', () => {
    const lines = logged((log) => {
      for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level](level)
    }, 'warn')
    assert.deepEqual(
      lines.map(({ msg }) => msg),
      ['warn', 'error'],
    )
  })

  test('writes no secret, at any depth', () => {
    const lines = logged((log) => {
      log.info('a', { headers: { authorization: 'canary', 'set-cookie': 'canary', host: 'h' } })
      log.child({ token: 'canary', list: [{ password: 'canary' }] }).warn('b', { jwt: 'canary' })
    })
    assert.doesNotMatch(JSON.stringify(lines), /canary/)
    assert.match(JSON.stringify(lines), /"host":"h"/)
  })

  test('never throws and keeps the names of the line its own', () => {
    const cyclic: Record<string, unknown> = { time: 1, level: 2, msg: 3 }
    cyclic['self'] = cyclic
    const hostile = {
      get broken(): never {
        throw new Error('no')
      },
    }
    const [first, second] = logged((log) => {
      log.info('a', cyclic)
      log.info('b', hostile)
      serverLog({
        level: 'info',
        format: 'json',
        write() {
          throw new Error('gone')
        },
      }).error('c')
    })
    assert.equal(first!['time_'], 1)
    assert.equal(first!['level'], 'info')
    assert.equal(second!['msg'], 'b')
  })

  test('is for people where it is pretty', () => {
    const lines: string[] = []
    const log = serverLog({ level: 'info', format: 'pretty', write: (line) => lines.push(line) })
    log.info('listening', { component: 'server', port: 1, at: 'here' })
    assert.match(lines[0]!, /^\d\d:\d\d:\d\d\.\d{3} INFO {2}server: listening port=1 at=here\n$/)
  })
})
