/**
 * The stock service over HTTP beside fastify alone: what it costs that a sale is checked, recorded,
 * durable and answered again when it is repeated. 64 connections over loopback, nothing pipelined.
 */
import type { Measured } from '../figure.ts'
import { STOCK, takeStockRounds, type StockEffort } from '../stock/rounds.ts'
import type { Options } from './suite.ts'

const SALES_RATIO_MIN = 0.6
const MOVES_RATIO_MIN = 0.5

const QUICK: StockEffort = { rounds: 7, roundMs: 1_000, budgetMs: 44_000 }
const FULL: StockEffort = { rounds: 15, roundMs: 2_000, budgetMs: Infinity }

export async function stock(options: Options): Promise<readonly Measured[]> {
  const effort = options.quick ? QUICK : FULL
  const asked = options.rounds && { rounds: options.rounds, budgetMs: Infinity }
  const readings = await takeStockRounds({ ...effort, ...asked }, options.say)
  for (const failure of readings.failures) options.say(`failed: ${failure}`)
  return (
    [
      ['sales', SALES_RATIO_MIN],
      ['moves', MOVES_RATIO_MIN],
    ] as const
  ).map(([kind, value]) => ({
    suite: 'stock',
    figure: `${kind}-ratio`,
    ours: readings.median(STOCK, kind, 'ours'),
    unit: 'request/s',
    limit: readings.median(STOCK, kind, 'limit'),
    rounds: readings.all(STOCK, kind, 'ours').length,
    goal: [{ field: 'ratio', is: '>=', value }],
  }))
}
