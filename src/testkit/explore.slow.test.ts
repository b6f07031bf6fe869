import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { receive, setup, type Behavior, type Ref } from '../kernel/index.ts'
import { explore } from './explore.ts'

type Job = Readonly<{ n: number; replyTo: Ref<number> }>

/** Deals jobs out to its workers in turn; each worker takes a while and answers. */
function pool(size: number): Behavior<Job> {
  return setup((ctx) => {
    const workers = Array.from({ length: size }, (_, n) => ctx.spawn(`worker-${n}`, worker()))
    let turn = 0
    return receive((_ctx, job) => void workers[turn++ % size]!.tell(job))
  })
}

function worker(): Behavior<Job> {
  return receive((ctx, { n, replyTo }) => {
    if (n < 0) replyTo.tell(-n)
    else ctx.timers.after(`job-${n}`, 1 + (n % 3), { n: -n, replyTo })
  })
}

/** Opens to one order of six. */
function latch(box: Ref<string>): Behavior<string> {
  const heard: string[] = []
  return receive((_ctx, name) => {
    heard.push(name)
    if (heard.join('') === 'badcfe') box.tell('unlocked')
  })
}

describe('ten thousand seeds', () => {
  test('are played well within a minute, and every job is answered in every order', async () => {
    const start = process.cpuUsage()

    const { seeds, steps } = await explore(10_000, async (w) => {
      const answers = w.inbox<number>('answers')
      const dealer = w.system.spawn('pool', pool(3))
      for (let n = 1; n <= 8; n++) dealer.tell({ n, replyTo: answers })
      await w.run()
      assert.deepEqual(
        answers.messages.toSorted((a, b) => a - b),
        [1, 2, 3, 4, 5, 6, 7, 8],
      )
    })

    assert.equal(seeds, 10_000)
    assert.ok(steps > 200_000)
    // Time of a processor: what others do on this machine is not of the seeds.
    const { user, system } = process.cpuUsage(start)
    assert.ok(user + system < 40_000_000, `${(user + system) / 1e6} s`)
  })

  test('find a bug that one order in a thousand shows', async () => {
    const found = explore(10_000, async (w) => {
      const box = w.inbox<string>('box')
      const target = w.system.spawn('latch', latch(box))
      for (const name of 'abcdef') {
        w.system
          .spawn(
            name,
            receive<string>((_ctx, m) => void target.tell(m)),
          )
          .tell(name)
      }
      await w.run()
      await box.expectEmpty()
    })

    await assert.rejects(found, { code: 'scenario-failed', message: /unlocked/ })
  })
})
