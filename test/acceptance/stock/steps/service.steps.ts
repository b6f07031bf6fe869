/** Which service a scenario is about, which places it knows, and who asks. */
import assert from 'node:assert/strict'

import { Before, Given, When, type DataTable } from '@cucumber/cucumber'

import { issuerOf } from '../../tokens.ts'
import {
  ADMIN_TOKEN,
  plainService,
  sharedService,
  tokenService,
  upstreamService,
  type Policy,
} from './service.ts'
import type { StockWorld } from './world.ts'

/** The words of the features for the settings of the other service. */
const UPSTREAM: Readonly<Record<string, string>> = {
  attempts: 'stock.locations.attempts',
  delay: 'stock.locations.delay',
  timeout: 'stock.locations.timeout',
  failures: 'stock.locations.failures',
  quiet: 'stock.locations.quiet',
}

Before({ tags: '@own' }, function (this: StockWorld) {
  this.isOwn = true
})

Before({ tags: '@restarts' }, function (this: StockWorld) {
  this.kind = 'restarts'
})

Given('the service runs with:', async function (this: StockWorld, table: DataTable) {
  this.use(await plainService(settingsIn(table)), true)
})

Given('the service asks a location API', async function (this: StockWorld) {
  this.use(await upstreamService({}), true)
})

Given('the service asks a location API with:', async function (this: StockWorld, table: DataTable) {
  const named = Object.entries(table.rowsHash()).map(([word, value]) => {
    const setting = UPSTREAM[word]
    assert.ok(setting !== undefined, `no setting is called ${word} here`)
    return [setting, /^\d+$/.test(value) ? Number(value) : value]
  })
  this.use(await upstreamService(Object.fromEntries(named)), true)
})

Given('the service checks tokens', async function (this: StockWorld) {
  if (this.isOwn) return // it is given a policy of its own
  this.use(await sharedService('jwt'), false)
  this.setupHeaders = { authorization: `Bearer ${ADMIN_TOKEN}` }
})

Given(
  'the service checks tokens by this policy:',
  async function (this: StockWorld, table: DataTable) {
    const jobs = table
      .hashes()
      .map(({ job, permissions }) => [job!, permissions!.split(', ')] as const)
    const policy: Policy = Object.fromEntries(jobs)
    this.use(await tokenService(policy), true)
    this.setupHeaders = { authorization: `Bearer ${ADMIN_TOKEN}` }
  },
)

Given('these places:', function (this: StockWorld, table: DataTable) {
  for (const { place, inside, tracked, 'cache-control': cacheControl } of table.hashes())
    this.declare(place!, {
      parent: inside === '' ? undefined : inside,
      isTracked: tracked === 'yes',
      cacheControl,
    })
})

When(
  'the place {string} moves into {string}',
  async function (this: StockWorld, place: string, into: string) {
    this.declare(place, { parent: into, isTracked: true, cacheControl: undefined })
  },
)

Given('I carry no token', function (this: StockWorld) {
  this.headers = {}
})

Given('I carry the token {string}', function (this: StockWorld, token: string) {
  this.headers = { authorization: `Bearer ${token}` }
})

Given(
  /^I carry a token of the job "([^"]+)"(?: for "([^"]+)")?$/,
  async function (this: StockWorld, job: string, place: string | null) {
    await carry(this, { job, ...(place !== null && { location: this.place(place) }) })
  },
)

Given(
  'I carry a token of the job {string} that has run out',
  async function (this: StockWorld, job: string) {
    await carry(this, { job, exp: 1_700_000_000 })
  },
)

Given(
  'I carry a token of the job {string} made for another service',
  async function (this: StockWorld, job: string) {
    await carry(this, { job, aud: 'somebody else' })
  },
)

Given(
  'I carry a token of the job {string} signed by somebody else',
  async function (this: StockWorld, job: string) {
    const { issuer } = await this.service()
    const other = issuerOf(issuer!.issuer, issuer!.audience)
    this.headers = { authorization: `Bearer ${other.sign({ sub: 'me', name: 'Me', job })}` }
  },
)

async function carry(world: StockWorld, claims: Readonly<Record<string, unknown>>): Promise<void> {
  const { issuer } = await world.service()
  assert.ok(issuer !== undefined, 'the service checks no tokens')
  const token = issuer.sign({ sub: 'me', name: 'Me', ...claims })
  world.headers = { authorization: `Bearer ${token}` }
}

function settingsIn(table: DataTable): Record<string, string> {
  return table.rowsHash()
}
