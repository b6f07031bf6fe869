/**
 * What one scenario knows: its service, the ids behind the names it uses, and what was answered.
 *
 * Names in a feature are short and the same everywhere; the ids behind them are of this scenario
 * alone, so scenarios may share a service.
 */
import assert from 'node:assert/strict'

import { After, AfterAll, setDefaultTimeout, setWorldConstructor, World } from '@cucumber/cucumber'

import { TRACKED_ROLE } from '../../../../src/stock/index.ts'
import { at, send, type Answer, type Sent } from '../../client.ts'
import {
  remove,
  removeShared,
  sharedService,
  plainService,
  type Kind,
  type Service,
} from './service.ts'

export type Place = Readonly<{
  parent: string | undefined
  isTracked: boolean
  cacheControl: string | undefined
}>

export type Level = Readonly<{
  quantity: number | undefined
  pending: number
  total: number | undefined
}>

const STEP_MS_MAX = 150_000
const DAY = '2024-12-13'

let scenarios = 0

export class StockWorld extends World {
  readonly #suffix = `${(scenarios += 1)}`
  readonly #own: Service[] = []
  readonly #requests = new Map<string, Sent>()
  readonly #places = new Map<string, Place>()
  readonly #unknown = new Set<string>()
  #service: Service | undefined
  #minutes = 0
  #ids = 0
  /** Since the last check of all of them. */
  answers: Answer[] = []
  /** Those that were checked last, all of them. */
  judged: readonly Answer[] = []
  /** The writes of this scenario, in order. */
  writes: Sent[] = []
  /** What every request carries. */
  headers: Record<string, string> = {}
  /** What the scenario itself needs no right for: places and what they hold at first. */
  setupHeaders: Record<string, string> = {}
  isOwn = false
  kind: Kind = 'plain'
  /** The end of the journal before the last write. */
  positionBefore = 0
  /** The largest that a write was answered with: reads wait for it. */
  seen: string | undefined
  noted: Record<string, number> = {}
  trace = ''

  use(service: Service, isOwn: boolean): void {
    this.#service = service
    this.isOwn = isOwn
    if (isOwn) this.#own.push(service)
    for (const name of this.#places.keys()) this.#unknown.add(name)
  }

  /** The service is told of it before the first request that follows. */
  declare(name: string, place: Place): void {
    this.#places.set(name, place)
    this.#unknown.add(name)
  }

  async service(): Promise<Service> {
    if (this.#service === undefined)
      if (this.isOwn) this.use(await plainService(), true)
      else this.use(await sharedService(this.kind), false)
    return this.#service!
  }

  async url(): Promise<string> {
    return (await this.service()).server.url
  }

  place(name: string): string {
    return `${name}-${this.#suffix}`
  }

  product(name: string): string {
    return `${name}-${this.#suffix}`
  }

  request(name: string): string {
    return `${name}-${this.#suffix}`
  }

  freshRequest(): string {
    return this.request(`request-${(this.#ids += 1)}`)
  }

  /** `09:30` of the day all this happens on; without a time, a minute after the last such one. */
  time(clock: string | null = null): string {
    if (clock !== null) return `${DAY}T${clock}:00Z`
    this.#minutes += 1
    const hours = String(14 + Math.floor(this.#minutes / 60)).padStart(2, '0')
    return `${DAY}T${hours}:${String(this.#minutes % 60).padStart(2, '0')}:00Z`
  }

  potPath(place: string, product: string): string {
    const [location, item] = [this.place(place), this.product(product)].map(encodeURIComponent)
    return `/locations/${location}/products/${item}`
  }

  potKey(place: string, product: string): string {
    const key = [this.product(product), this.place(place)].map(encodeURIComponent).join('|')
    return encodeURIComponent(key)
  }

  /** Keeps the answer, and what it says about where the journal is. */
  async send(sent: Sent): Promise<Answer> {
    const answer = await this.ask(sent)
    this.answers.push(answer)
    return answer
  }

  async write(path: string, body: unknown, name: string | null = null): Promise<Answer> {
    const sent = { method: 'POST', path, body }
    this.writes.push(sent)
    if (name !== null) this.#requests.set(name, sent)
    this.positionBefore = await this.position()
    return this.send(sent)
  }

  writtenAs(name: string): Sent {
    const sent = this.#requests.get(name)
    assert.ok(sent !== undefined, `nothing was sent as request "${name}"`)
    return sent
  }

  /** Without keeping the answer. */
  async ask(sent: Sent, headers: Readonly<Record<string, string>> = this.headers): Promise<Answer> {
    await this.#tellPlaces()
    const answer = await send(await this.url(), {
      ...sent,
      headers: {
        ...headers,
        ...(this.seen !== undefined && sent.method === 'GET' && { 'consistency-token': this.seen }),
        ...sent.headers,
      },
    })
    const token = answer.headers.get('consistency-token')
    if (token !== null && sent.method === 'POST' && Number(token) > Number(this.seen ?? -1))
      this.seen = token
    return answer
  }

  get last(): Answer {
    const last = this.answers.at(-1)
    assert.ok(last !== undefined, 'there is no answer yet')
    return last
  }

  async level(place: string, product: string, query = ''): Promise<Level> {
    const path = this.potPath(place, product) + query
    const answer = await this.ask(
      { method: 'GET', path },
      { ...this.headers, ...this.setupHeaders },
    )
    assert.equal(answer.status, 200, answer.text)
    return {
      quantity: at(answer.json, 'quantity') as number | undefined,
      pending: (at(answer.json, 'pendingAdjustment') as number | undefined) ?? 0,
      total: at(answer.json, 'totalQuantity') as number | undefined,
    }
  }

  /** How far the journal has got. */
  async position(): Promise<number> {
    const metrics = await this.metrics()
    const head = metrics['flytower_journal_events_total']
    assert.ok(head !== undefined, `no position among ${Object.keys(metrics).join(', ')}`)
    return head
  }

  async metrics(): Promise<Readonly<Record<string, number>>> {
    const headers = { ...this.headers, ...this.setupHeaders }
    const { text, status } = await this.ask({ method: 'GET', path: '/metrics' }, headers)
    assert.equal(status, 200, text)
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    return Object.fromEntries(
      lines.map((line) => {
        const cut = line.lastIndexOf(' ')
        return [line.slice(0, cut), Number(line.slice(cut + 1))]
      }),
    )
  }

  async #tellPlaces(): Promise<void> {
    for (const name of this.#unknown) {
      this.#unknown.delete(name)
      await this.#tellPlace(name, this.#places.get(name)!)
    }
  }

  async #tellPlace(name: string, { parent, isTracked, cacheControl }: Place): Promise<void> {
    const roles = isTracked ? [TRACKED_ROLE] : []
    const inside = parent === undefined ? undefined : this.place(parent)
    const { locationApi, server } = await this.service()
    if (locationApi !== undefined) {
      locationApi.places.set(this.place(name), { parent: inside, roles, cacheControl })
      return
    }
    const told = await send(server.url, {
      method: 'PUT',
      path: `/locations/${encodeURIComponent(this.place(name))}`,
      body: { ...(inside !== undefined && { parent: inside }), roles },
      headers: this.setupHeaders,
    })
    assert.ok(told.status === 200 || told.status === 201, told.text)
  }

  async end(): Promise<void> {
    for (const service of this.#own) await remove(service)
  }
}

setWorldConstructor(StockWorld)
setDefaultTimeout(STEP_MS_MAX)

After(async function (this: StockWorld) {
  await this.end()
})

AfterAll(async () => removeShared())
