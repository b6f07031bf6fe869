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
    const wrong = wrongWith(pair, subject, sight)
    expect(wrong === undefined, () => `${subject.actor.id}: ${wrong}`)
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

/** What is wrong with one actor, if anything. */
function wrongWith(pair: Pair, subject: Subject, sight: Sight): string | undefined {
  const { actor } = subject
  const tokens = actor.tokens.size
  if (sight.counter !== tokens) return `counts ${sight.counter} tokens, not ${tokens}`
  if (sight.tokens !== tokens) return `has ${sight.tokens} tokens, not ${tokens}`
  if (sight.awaiting !== (actor.awaiting !== undefined)) return `awaits: ${sight.awaiting}`
  if (sight.stopped !== (actor.state === 'stopped')) return `has stopped: ${sight.stopped}`
  if (actor.state === 'stopped') return sight.linked ? 'is linked though it has stopped' : undefined
  return wrongWithState(actor, sight) ?? wrongWithPlace(pair, subject, sight)
}

function wrongWithState(actor: ModelActor, sight: Sight): string | undefined {
  const { system, room, ahead, stash, held } = actor
  if (sight.restarting !== actor.restarting) return `restarts: ${sight.restarting}`
  if (sight.stopping !== (actor.state === 'stopping')) return `is stopping: ${sight.stopping}`
  if (sight.system !== system.length) return `has ${sight.system} pieces of system work`
  if (sight.systemFlag !== system.length > 0) return `has system work: ${sight.systemFlag}`
  if (sight.ahead !== (ahead !== undefined)) return `has something ahead: ${sight.ahead}`
  if (sight.stash !== stash.length) return `stashed ${sight.stash}, not ${stash.length}`
  if (sight.held !== held.length) return `holds back ${sight.held}, not ${held.length}`
  if (actor.state !== 'alive' || sight.room === room) return undefined
  return `has room for ${sight.room}, not ${room}`
}

/** It is linked if and only if it has to be. */
function wrongWithPlace(pair: Pair, subject: Subject, sight: Sight): string | undefined {
  const { actor } = subject
  const { linked, express } = sight
  const isRunning = pair.inside === subject || pair.turn === subject
  const hasSystemWork = actor.system.length > 0
  const isRunnable = !actor.halted && actor.hasMail
  if (linked && !hasSystemWork && !isRunnable)
    return 'is linked though it has nothing to do or may not'
  if (linked && !hasSystemWork && express > 0) return 'is linked while it has express mail'
  if (linked || isRunning) return undefined
  if (hasSystemWork) return 'has system work and is not linked'
  return isRunnable && express === 0 ? 'may run and has mail, and is not linked' : undefined
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
