import assert from 'node:assert/strict'
import { test } from 'node:test'
import { peersHash } from './contenders.ts'
import { judge, median, type Measured, sentence } from './figure.ts'

const pingPong: Measured = {
  suite: 'kernel',
  figure: 'ping-pong',
  ours: 33.1e6,
  unit: 'msg/s',
  limit: 45e6,
  peers: { nact: 0.69e6 },
  rounds: 6,
  goal: [{ field: 'ratio', is: '>=', value: 0.7 }],
}

test('a figure is one line with its ratio, its goal and whether it is met', () => {
  const line = JSON.stringify(judge(pingPong))

  assert.equal(
    line,
    '{"suite":"kernel","figure":"ping-pong","ours":33100000,"unit":"msg/s","limit":45000000,' +
      '"ratio":0.7356,"peers":{"nact":690000},"rounds":6,"goal":"ratio >= 0.7","met":true}',
  )
})

test('a goal holds at its value and not beyond it', () => {
  assert.equal(judge({ ...pingPong, ours: 70, limit: 100 }).met, true)
  assert.equal(judge({ ...pingPong, ours: 69.9, limit: 100 }).met, false)

  const atMost = { ...pingPong, goal: [{ field: 'ours', is: '<=', value: 1 }] } as const
  assert.equal(judge({ ...atMost, ours: 1 }).met, true)
  assert.equal(judge({ ...atMost, ours: 1.001 }).met, false)
})

test('every condition of a goal has to hold', () => {
  const goal = [
    { field: 'ratio', is: '>=', value: 0.7 },
    { field: 'peerRatio', is: '>=', value: 5 },
  ] as const

  const behind = judge({ ...pingPong, peerBest: 10e6, goal })
  const ahead = judge({ ...pingPong, peerBest: 5e6, goal })

  assert.equal(behind.goal, 'ratio >= 0.7 and peerRatio >= 5')
  assert.equal(behind.peerRatio, 3.31)
  assert.equal(behind.met, false)
  assert.equal(ahead.met, true)
})

test('what was not measured is not met', () => {
  const figure = judge({ ...pingPong, ours: undefined })

  assert.equal(figure.ours, null)
  assert.equal(figure.met, false)
  assert.match(sentence(figure), /^UNMET ping-pong/)
})

test('the median of an even number of rounds lies between the middle two', () => {
  assert.equal(median([4, 1, 3, 2]), 2.5)
  assert.equal(median([3, 1, 2]), 2)
  assert.equal(median([]), undefined)
})

test('the limits and peer adapters are the copies they were taken as', () => {
  assert.equal(
    peersHash('actors'),
    'f915f46e2cf46a3140e9d650ba8781e4a71cfa78aed8f787df1ce92c32413fcf',
  )
  assert.equal(
    peersHash('brokers'),
    '3d3f56d3e695032ab79a6ed2d0f491e409cb1575cf7c01718aa0aa8ae527b391',
  )
})
