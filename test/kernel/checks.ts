/**
 * What must hold between two steps, whatever the program.
 *
 * A mailbox is marked as ready exactly if it is linked, once. Who is suspended, awaiting, restarting
 * or ending is not linked, unless for system work. Who may run and has mail is linked, running, or has
 * entries on the express lane. The suspend counter is the number of live tokens; the room is the bound
 * less what waits; the ready depth does not count who may not run.
 */
import { brokenLinks, expressDepth, isIdle, runsExpress, see, type Sight } from './inside.ts'
import type { ModelActor } from './model/actor.ts'
import type { Pair, Subject } from './pair.ts'

export function checkAll(pair: Pair, when: string): void {
  pair.noticeEnd()
  if (pair.isOver) return
  const { known, model } = pair
  const expect = (holds: boolean, what: () => string): void =>
    pair.expect(holds, () => `${what()} ${when}`)
  expect(model.hookDue === undefined, () => 'an onStop that was due was not called')
  expect(pair.start === undefined, () => 'a behavior that was due was not started')
  let depth = 0
  let unseen = 0
  for (const subject of known) {
    const sight = see(subject.cell)
    for (const [holds, what] of findings(pair, subject, sight)) {
      expect(holds, () => `${subject.actor.id}: ${what}`)
    }
    depth += sight.open
    if (sight.stopped) unseen += sight.express
  }
  const mailboxes = known.flatMap(({ cell }) => (cell.mail === null ? [] : [cell.mail]))
  const queue = known[0]?.cell.core.ready
  const broken = queue === undefined ? undefined : brokenLinks(queue, mailboxes)
  expect(broken === undefined, () => `the ready queue: ${broken}`)
  if (pair.mode === 'express') {
    const core = known[0]?.cell.core
    const shown = core === undefined ? 0 : expressDepth(core)
    const running = pair.inside !== undefined && runsExpress() ? 1 : 0
    const isExact = shown === depth || shown === depth + running
    expect(isExact, () => `the express lane shows ${shown} as ready and not ${depth}`)
  }
  const missing = model.accounts.dead.size - pair.deadSeen.size
  expect(
    missing === unseen,
    () => `${missing} dead letters have not been seen, ${unseen} are on the way`,
  )
}

type Finding = readonly [holds: boolean, what: string]

function findings(pair: Pair, subject: Subject, sight: Sight): Finding[] {
  const { actor } = subject
  const found: Finding[] = [
    [
      sight.counter === actor.tokens.size,
      `counts ${sight.counter} tokens, not ${actor.tokens.size}`,
    ],
    [sight.tokens === actor.tokens.size, `has ${sight.tokens} tokens, not ${actor.tokens.size}`],
    [sight.awaiting === (actor.awaiting !== undefined), `awaits: ${sight.awaiting}`],
    [sight.stopped === (actor.state === 'stopped'), `has stopped: ${sight.stopped}`],
  ]
  if (actor.state !== 'stopped') found.push(...alive(actor, sight))
  found.push(...ready(pair, subject, sight))
  return found
}

function alive(actor: ModelActor, sight: Sight): Finding[] {
  return [
    [sight.restarting === actor.restarting, `restarts: ${sight.restarting}`],
    [sight.systemFlag === actor.system.length > 0, `has system work: ${sight.systemFlag}`],
    [sight.system === actor.system.length, `has ${sight.system} pieces of system work`],
    [sight.stopping === (actor.state === 'stopping'), `is stopping: ${sight.stopping}`],
    [
      actor.state !== 'alive' || sight.room === actor.room,
      `has room for ${sight.room}, not ${actor.room}`,
    ],
    [sight.ahead === (actor.ahead !== undefined), `has something ahead: ${sight.ahead}`],
    [sight.stash === actor.stash.length, `stashed ${sight.stash}, not ${actor.stash.length}`],
    [sight.held === actor.held.length, `holds back ${sight.held}, not ${actor.held.length}`],
  ]
}

/** Whether it is linked if and only if it has to be. */
function ready(pair: Pair, subject: Subject, sight: Sight): Finding[] {
  const { actor } = subject
  const isRunning = pair.inside === subject || pair.turn === subject
  const system = actor.system.length > 0
  const runnable = !actor.halted && actor.hasMail
  const served = sight.linked || isRunning || sight.express > 0
  return [
    [!sight.linked || system || runnable, 'is linked though it has nothing to do or may not'],
    [!runnable || served, 'may run and has mail, and is not linked'],
    [!system || sight.linked || isRunning, 'has system work and is not linked'],
    [!sight.linked || system || sight.express === 0, 'is linked while it has express mail'],
  ]
}

/** Nothing more can happen by itself. */
export function checkAtRest(pair: Pair): void {
  checkAll(pair, 'at rest')
  if (pair.isOver) return
  const { model, system } = pair
  const { accounts, actors } = model
  for (const actor of actors) {
    const idle = actor.system.length === 0 && (actor.halted || !actor.hasMail)
    pair.expect(idle, () => `${actor.id} has something to do at rest`)
  }
  for (const { real, model: token } of pair.tokens) {
    pair.expect(real.active === token.active, () => `a token is active at rest: ${real.active}`)
  }
  const shown = system.metrics()
  const numbers: readonly (readonly [name: string, is: number, due: number])[] = [
    ['spawned', shown.spawned, accounts.spawned],
    ['stopped', shown.stopped, accounts.stopped],
    ['failures', shown.failures, accounts.failures],
    ['retries', shown.retries, accounts.retries],
    ['restarts', shown.restarts, accounts.restarts],
    ['escalations', shown.escalations, accounts.escalations],
    ['suspend_count', shown.suspend_count, accounts.suspends],
    ['resume_count', shown.resume_count, accounts.resumes],
    ['resume_unbalanced', shown.resume_unbalanced, accounts.unbalanced],
    ['suspended_now', shown.suspended_now, count(actors, (actor) => actor.tokens.size > 0)],
    ['blocked_senders', shown.blocked_senders, count(actors, (actor) => actor.block !== undefined)],
    ['backpressure_cycles', shown.backpressure_cycles, accounts.cycles],
    ['ready_depth', shown.ready_depth, 0],
  ]
  for (const [name, is, due] of numbers) {
    pair.expect(is === due, () => `the metric ${name} is ${is} and not ${due}`)
  }
  for (const reason of Object.keys({ ...shown.dead_letters, ...accounts.deadBy })) {
    const is = shown.dead_letters[reason] ?? 0
    const due = accounts.deadBy[reason] ?? 0
    pair.expect(is === due, () => `${is} letters are dead by ${reason} and not ${due}`)
  }
  checkConservation(pair)
}

function count(actors: readonly ModelActor[], holds: (actor: ModelActor) => boolean): number {
  return actors.filter(holds).length
}

/** Every letter that was sent is handled, dropped after a failure, dead, or waits somewhere: in one place. */
function checkConservation(pair: Pair): void {
  const { accounts, actors } = pair.model
  const places = new Map<unknown, string[]>()
  const put = (letter: unknown, place: string): void => {
    const already = places.get(letter)
    if (already === undefined) places.set(letter, [place])
    else already.push(place)
  }
  for (const letter of accounts.done) put(letter, 'done')
  for (const letter of accounts.dropped) put(letter, 'dropped')
  for (const letter of accounts.dead.keys()) put(letter, 'dead')
  for (const actor of actors) {
    for (const { letter } of actor.queue) put(letter, 'queued')
    for (const letter of actor.stash) put(letter, 'stashed')
    for (const { letter } of actor.held) put(letter, 'held')
    for (const { offered } of actor.waiters) put(offered, 'offered')
    put(actor.ahead?.letter, 'ahead')
    put(actor.awaiting?.entry.letter, 'awaited')
  }
  for (const letter of accounts.sent) {
    const at = places.get(letter) ?? ['nowhere']
    pair.expect(
      at.length === 1 && at[0] !== 'nowhere',
      () => `letter ${letter.id}: ${at.join(', ')}`,
    )
  }
}

/** Everything has ended. */
export async function checkEnd(pair: Pair): Promise<void> {
  for (const { actor } of pair.known) {
    pair.expect(actor.state === 'stopped', () => `${actor.id} has not ended with its system`)
  }
  const cells = pair.known.map(({ cell }) => cell)
  pair.expect(pair.mode === 'stepped' || isIdle(cells), () => 'the express lane is not empty')
  for (const offer of pair.offers) {
    pair.expect(offer.isAnswered, () => 'an offer is not answered at the end')
    if (pair.isOver) return
    const answer = await offer.answer
    const code = codeOf(answer)
    pair.expect(code === offer.expected, () => `an offer answers ${code} and not ${offer.expected}`)
  }
}

function codeOf(answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null || !('code' in answer)) return undefined
  return String(answer.code)
}
