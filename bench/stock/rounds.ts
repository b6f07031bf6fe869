/**
 * The rounds of the stock suite: ours and the limit live at the same time, each in its own process, and
 * are loaded in turn by the same clients, which are in a third one. A round ends when the server has
 * become idle, so that what it puts off until after its answers is part of the figure.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scratch } from '../durable/disk.ts'
import { Readings } from '../rounds.ts'
import { startBare, startOurs, stopped, type Server } from './server-process.ts'
import { LOCATIONS, PRODUCTS, productOf, type Finished, type Kind, type Task } from './traffic.ts'

export type StockEffort = Readonly<{
  rounds: number
  roundMs: number
  /** No round is begun that would end later than this, apart from the first. */
  budgetMs: number
}>

export const STOCK = 'stock'

const CLIENT = join(import.meta.dirname, 'client.ts')
const CONNECTIONS = 64
const KINDS: readonly Kind[] = ['sales', 'moves']
const STOCKED = 1_000_000_000
/** Requests with which a server warms up. */
const WARM_UP = 10_000
const WARM_UP_MS = 2_000

export async function takeStockRounds(
  effort: StockEffort,
  say: (line: string) => void,
): Promise<Readings> {
  const readings = new Readings()
  const start = performance.now()
  using directory = scratch()
  const locations = join(directory.path, 'locations.json')
  writeFileSync(locations, JSON.stringify(places()))
  const clients = new Clients()
  const ours = await startOurs(directory.path, {
    FLYTOWER_STOCK_LOCATIONS_SOURCE: 'file',
    FLYTOWER_STOCK_LOCATIONS_FILE: locations,
  })
  let bare: Server | undefined
  try {
    await fill(ours)
    // The limit is to write as many bytes as ours, so ours is looked at first.
    const [own, its] = await sizes(clients, ours)
    bare = await startBare(Math.max(0, own - its))
    say(`an answer of ours has ${own} bytes, ${own - its} of them in headers of its own`)
    const counts = new Map<string, number>()
    for (const kind of KINDS)
      for (const [name, server] of [
        ['ours', ours],
        ['limit', bare],
      ] as const) {
        const rate = await warmedUp(clients, server, kind)
        counts.set(`${name} ${kind}`, Math.ceil((rate * effort.roundMs) / 1_000))
      }
    for (let round = 0; round < effort.rounds; round++) {
      const begin = performance.now()
      const perRound = (begin - start) / (round + 1)
      if (round > 0 && begin - start + perRound > effort.budgetMs) break
      for (const kind of KINDS)
        for (const [name, server] of [
          ['ours', ours],
          ['limit', bare],
        ] as const) {
          const rate = await clients.rate(server, kind, counts.get(`${name} ${kind}`)!)
          readings.add(STOCK, kind, { [name]: [rate] })
        }
      say(`round ${round + 1} ${((performance.now() - begin) / 1_000).toFixed(2)} s`)
    }
  } catch (error) {
    for (const kind of KINDS) readings.fail(STOCK, kind, String(error))
  } finally {
    await ours.stop()
    await bare?.stop()
    await clients.stop()
  }
  return readings
}

/** The process of the clients. Request ids go on from round to round, so none is sent twice. */
class Clients {
  readonly #child: ChildProcess = fork(CLIENT)
  #next = 0

  /** Requests a second, until the server has nothing left to do. */
  async rate(server: Server, kind: Kind, count: number): Promise<number> {
    const { startedAt } = await this.send(server, kind, count)
    return (count * 1_000) / ((await server.quietSince()) - startedAt)
  }

  async send({ host, port }: Server, kind: Kind, count: number): Promise<Finished> {
    const connections = Math.min(CONNECTIONS, count)
    const task: Task = { host, port, kind, connections, from: this.#next, count }
    this.#next += count
    const heard = once(this.#child, 'message')
    this.#child.send(task)
    const [answer]: (Finished | Readonly<{ error: string }>)[] = await heard
    if (answer === undefined || 'error' in answer) throw new Error(answer?.error ?? 'no answer')
    return answer
  }

  stop(): Promise<void> {
    return stopped(this.#child)
  }
}

async function warmedUp(clients: Clients, server: Server, kind: Kind): Promise<number> {
  const start = performance.now()
  let rate = 0
  while (performance.now() - start < WARM_UP_MS) rate = await clients.rate(server, kind, WARM_UP)
  return rate
}

/** Bytes of an answer of ours, and of the limit without anything more. */
async function sizes(clients: Clients, ours: Server): Promise<readonly [number, number]> {
  const own = (await clients.send(ours, 'sales', 1)).answerBytes
  const bare = await startBare(0)
  try {
    return [own, (await clients.send(bare, 'sales', 1)).answerBytes]
  } finally {
    await bare.stop()
  }
}

/** Both places get so much of everything that no move finds too little. */
async function fill({ host, port }: Server): Promise<void> {
  const products = Array.from({ length: PRODUCTS }, (_, index) => ({
    productId: productOf(index),
    quantity: STOCKED,
  }))
  for (const location of LOCATIONS) {
    const answer = await fetch(`http://${host}:${port}/locations/${location}/deliveries`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        requestId: `fill-${location}`,
        supplierId: 'bench',
        supplierRef: 'bench',
        deliveredAt: new Date().toISOString(),
        products,
      }),
    })
    if (answer.status !== 201)
      throw new Error(`a delivery was answered ${answer.status}: ${await answer.text()}`)
  }
}

function places(): unknown {
  return { locations: LOCATIONS.map((id) => ({ id, roles: ['TrackedInventoryLocation'] })) }
}
