/** The other service that knows the places: what it suffers, and how often it was asked. */
import assert from 'node:assert/strict'

import { Given, Then, When } from '@cucumber/cucumber'

import type { Asked, LocationApi } from '../../location-api.ts'
import type { StockWorld } from './world.ts'

/** A timer may be late by so much on a busy machine, and the request takes its time too. */
const LATE_MS_MAX = 400

Given(
  /^the location API (fails|is silent) (\d+) times?$/,
  async function (this: StockWorld, how: string, times: string) {
    const api = await apiOf(this)
    this.answers = []
    api.trouble(how === 'fails' ? 'fails' : 'silent', Number(times))
  },
)

Given('the location API fails always', async function (this: StockWorld) {
  ;(await apiOf(this)).trouble('fails', Infinity)
})

When('the location API is well again', async function (this: StockWorld) {
  ;(await apiOf(this)).trouble('fails', 0)
})

When('the location API goes down', async function (this: StockWorld) {
  await (await apiOf(this)).close()
})

Then(
  /^the location API was asked for "([^"]+)" (?:once|at least (\d+) times)$/,
  async function (this: StockWorld, place: string, least: string | null) {
    const asked = new Map<string, number>()
    for (const { path, place: about } of (await apiOf(this)).asked)
      if (about === this.place(place)) asked.set(path, (asked.get(path) ?? 0) + 1)
    assert.ok(asked.size > 0, 'it was never asked')
    for (const [path, times] of asked) if (least === null) assert.equal(times, 1, path)
    if (least !== null)
      assert.ok(Math.max(...asked.values()) >= Number(least), JSON.stringify([...asked]))
  },
)

Then(
  'the location API was asked {int} times before the answer',
  async function (this: StockWorld, times: number) {
    const asked = (await apiOf(this)).asked
    // Those that failed, and the one that did not: what follows a success is asked once each.
    const first = asked.filter(({ path }) => path === asked[0]!.path)
    assert.equal(first.length, times, JSON.stringify(asked))
  },
)

Then(
  'the location API was asked {int} times before the first 200',
  async function (this: StockWorld, times: number) {
    const asked = (await apiOf(this)).asked
    const first = asked.filter(({ path }) => path === asked[0]!.path)
    assert.equal(first.length, times, JSON.stringify(asked))
    this.answers = []
  },
)

Then(
  'the location API was asked {int} times in all',
  async function (this: StockWorld, times: number) {
    const asked = (await apiOf(this)).asked
    assert.equal(asked.length, times, JSON.stringify(asked))
  },
)

Then(
  'the pauses before the location API was asked again were at most {}',
  async function (this: StockWorld, list: string) {
    const longest = list.replace(' ms', '').split(', ').map(Number)
    const asked: readonly Asked[] = (await apiOf(this)).asked
    const pauses = longest.map((_, n) => asked[n + 1]!.atMs - asked[n]!.atMs)
    for (const [n, pause] of pauses.entries())
      assert.ok(pause > 0 && pause <= longest[n]! + LATE_MS_MAX, `${pauses.join(', ')} ms`)
    // Chance shortens each pause, but not by more than half.
    for (const [n, pause] of pauses.entries())
      assert.ok(pause >= longest[n]! / 2 - 1, `${pauses.join(', ')} ms`)
  },
)

Then('the location API was sent my trace', async function (this: StockWorld) {
  const asked = (await apiOf(this)).asked
  assert.ok(asked.length > 0)
  for (const { traceparent } of asked)
    assert.match(traceparent ?? '', new RegExp(`^00-${this.trace}-[0-9a-f]{16}-0[01]$`))
})

async function apiOf(world: StockWorld): Promise<LocationApi> {
  const { locationApi } = await world.service()
  assert.ok(locationApi !== undefined, 'the service asks no location API')
  return locationApi
}
