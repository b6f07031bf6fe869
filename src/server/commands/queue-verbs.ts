/** The verbs of `queue`: what each takes. What they do is loaded when one is asked for. */
import { InvalidArgumentError, type Command } from 'commander'

import type { Asked } from '../cli.ts'
import type { Io } from '../io.ts'
import { duration } from '../units.ts'
import type * as queueWork from './queue.ts'
import type { QueueCall } from './queue.ts'

type Work = typeof queueWork

/** What the command line lends to its verbs. */
export type QueueVerbs<Options> = Readonly<{
  io: Io
  /** The options that all verbs have. */
  keeping: (command: Command) => Command
  asked: (options: Options) => Promise<Asked>
  end: (code: number) => void
}>

type Given = Readonly<Partial<Record<string, unknown>>>

type Verb = Readonly<{
  usage: string
  description: string
  options: readonly (readonly [
    flags: string,
    description: string,
    read?: (text: string) => number,
  ])[]
  run: (
    work: Work,
    call: QueueCall,
    given: Given,
    words: Readonly<{ first: string; second: string }>,
  ) => Promise<number>
}>

const WAIT_MS_MAX = 60_000
const DELAY_MS_MAX = 2_592_000_000

const VERBS: readonly Verb[] = [
  {
    usage: 'ls [prefix]',
    description: 'list queues, with what is in them',
    options: [],
    run: (work, call, _given, { first }) => work.listQueues(call, first),
  },
  {
    usage: 'create <queue>',
    description: 'make a queue, or see that it is there',
    options: [
      ['--with <setting=value...>', 'settings of the queue, such as maxReceives=3'],
      ['--tag <name=value...>', 'tags of the queue'],
    ],
    run: (work, call, given, { first }) =>
      work.createQueue(call, first, {
        settings: textsIn(given, 'with'),
        tags: textsIn(given, 'tag'),
      }),
  },
  {
    usage: 'send <queue> <body>',
    description: 'send a message',
    options: [
      ['--priority <number>', 'from 0 to 255, higher first', wholeFrom(0)],
      ['--delay <duration>', 'how long it is put off', timeUpTo(DELAY_MS_MAX)],
      ['--group <name>', 'in a FIFO queue its order is within it; in others groups take turns'],
      ['--dedup-id <id>', 'what it is known by, so that it is not sent twice'],
    ],
    run: (work, call, given, { first, second }) =>
      work.sendMessage(call, first, {
        body: second,
        priority: given['priority'],
        delayMs: given['delay'],
        group: given['group'],
        dedupId: given['dedupId'],
      }),
  },
  {
    usage: 'receive <queue>',
    description: 'receive messages, and show their receipts',
    options: [
      ['--max <number>', 'how many at most; one otherwise', wholeFrom(1)],
      ['--wait <duration>', 'how long to wait for the first', timeUpTo(WAIT_MS_MAX)],
      ['--delete', 'delete them when they have been shown'],
    ],
    run: (work, call, given, { first }) =>
      work.receiveMessages(call, first, {
        max: numberIn(given, 'max', 1),
        waitMs: numberIn(given, 'wait', 0),
        deletes: given['delete'] === true,
      }),
  },
  {
    usage: 'peek <queue>',
    description: 'look at messages without taking them',
    options: [
      ['--limit <number>', 'how many; ten otherwise', wholeFrom(1)],
      ['--search <text>', 'those that have it in them'],
      ['--state <state>', 'those that are ready, delayed or leased'],
      ['--dead', 'the dead letters of the queue'],
    ],
    run: (work, call, given, { first }) =>
      work.peekMessages(call, first, {
        limit: numberIn(given, 'limit', 10),
        search: given['search'],
        state: given['state'],
        isDead: given['dead'] === true,
      }),
  },
  {
    usage: 'tail <queue>',
    description: 'show what is there, and what comes',
    options: [['--count <number>', 'end after so many', wholeFrom(1)]],
    run: (work, call, given, { first }) =>
      work.tailMessages(call, first, { count: numberIn(given, 'count', Infinity) }),
  },
  {
    usage: 'redrive <queue>',
    description: 'take dead letters back to where they died',
    options: [
      ['--id <id...>', 'only these'],
      ['--search <text>', 'only those that have it in them'],
      ['--to <queue>', 'to this queue instead'],
      ['--rate <number>', 'so many a second at most', wholeFrom(1)],
      ['--no-wait', 'do not wait until it is done'],
    ],
    run: (work, call, given, { first }) => {
      const ids = textsIn(given, 'id')
      return work.redriveMessages(call, first, {
        ...(ids.length > 0 && { ids }),
        search: given['search'],
        to: given['to'],
        ratePerSecond: given['rate'],
        waits: given['wait'] !== false,
      })
    },
  },
  {
    usage: 'purge <queue>',
    description: 'delete all messages',
    options: [
      ['--include-leased', 'also those that somebody works on'],
      ['--dead', 'the dead letters of the queue instead'],
    ],
    run: (work, call, given, { first }) =>
      work.purgeQueue(call, first, {
        isDead: given['dead'] === true,
        includeLeased: given['includeLeased'] === true,
      }),
  },
  {
    usage: 'pause <queue>',
    description: 'hand out nothing more, until it is resumed',
    options: [
      ['--receive', 'hand out nothing, which is so unless --send is given alone'],
      ['--send', 'take nothing in'],
    ],
    run: (work, call, given, { first }) => {
      const send = given['send'] === true
      return work.pauseQueue(call, first, { receive: !send || given['receive'] === true, send })
    },
  },
  {
    usage: 'resume <queue>',
    description: 'let a queue go on',
    options: [],
    run: (work, call, _given, { first }) =>
      work.pauseQueue(call, first, { receive: false, send: false }),
  },
]

export function addQueueVerbs<Options>(
  program: Command,
  { io, keeping, asked, end }: QueueVerbs<Options>,
): void {
  const queue = program
    .command('queue')
    .description('look at the queues of a running server, and work with them')
  for (const { usage, description, options, run } of VERBS) {
    const command = keeping(queue.command(usage))
      .description(description)
      .option('--url <url>', 'the server; otherwise the one that has the data, or listens there')
      .option('--account <number>', 'whose queue it is')
      .option('--region <name>', 'where it is')
    for (const [flags, says, read] of options)
      if (read === undefined) command.option(flags, says)
      else command.option(flags, says, read)
    command.action(async (...args: unknown[]) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- arguments, options, the command
      const given = args.at(-2) as Options & Given
      const [first = '', second = ''] = args.slice(0, -2).filter((word) => typeof word === 'string')
      const [work, { queueServer }] = await Promise.all([
        import('./queue.ts'),
        import('./queue-server.ts'),
      ])
      const told = await asked(given)
      const call = { server: queueServer(told, given, io), json: told.json, io }
      end(await run(work, call, given, { first, second }))
    })
  }
}

function textsIn(given: Given, name: string): readonly string[] {
  const value = given[name]
  return Array.isArray(value) ? value.map(String) : []
}

function numberIn(given: Given, name: string, fallback: number): number {
  const value = given[name]
  return typeof value === 'number' ? value : fallback
}

function wholeFrom(min: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,15}$/.test(text) && Number(text) >= min) return Number(text)
    throw new InvalidArgumentError(`It must be a whole number from ${min}.`)
  }
}

function timeUpTo(maxMs: number): (text: string) => number {
  const of = duration(0, maxMs)
  return (text) => {
    const read = of.read(text, '', [])
    if (read !== undefined) return read
    throw new InvalidArgumentError('It must be a duration such as 500ms or 20s.')
  }
}
