/** A developer at a breakpoint: attaches to a scene, and stays where it stops for so long. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

import { PROGRAM } from './run.ts'

type Answer = Readonly<{ id?: number; method?: string; result?: { result?: { value?: unknown } } }>

export type Debugged = Readonly<{ found: unknown; said: string; stillPaused: boolean }>

export async function debugUntilPaused(scene: string, ms: number): Promise<Debugged> {
  const child = spawn(process.execPath, [PROGRAM, scene], { stdio: ['ignore', 'pipe', 'pipe'] })
  const found = text(child.stdout)
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (part: string) => (said += part))
  while (!/ws:\/\/\S+/.test(said)) await once(child.stderr, 'data')

  const socket = new WebSocket(/ws:\/\/\S+/.exec(said)![0])
  await once(socket, 'open')
  const heard = hear(socket)
  const post = (id: number, method: string, params: object = {}): void =>
    socket.send(JSON.stringify({ id, method, params }))
  post(1, 'Debugger.enable')
  post(2, 'Runtime.runIfWaitingForDebugger')
  await heard(({ method }) => method === 'Debugger.paused')

  // The watchdog's time passes, not ours: the stopped process is asked for it again and again.
  let resumed = false
  void heard(({ method }) => method === 'Debugger.resumed').then(() => (resumed = true))
  let endAt = Infinity
  for (let id = 3, now = 0; now < endAt; id++) {
    post(id, 'Runtime.evaluate', { expression: 'performance.now()' })
    const { result } = await heard((answer) => answer.id === id)
    now = Number(result?.result?.value)
    if (endAt === Infinity) endAt = now + ms
  }
  const stillPaused = !resumed
  post(0, 'Debugger.resume')
  await heard((answer) => answer.id === 0)
  socket.close()
  return { found: JSON.parse(await found), said, stillPaused }
}

/** Settles with the first message, from now on, that is the wanted one. */
function hear(socket: WebSocket): (wanted: (answer: Answer) => boolean) => Promise<Answer> {
  return (wanted) =>
    new Promise((resolve) => {
      const listener = ({ data }: MessageEvent): void => {
        const answer: Answer = JSON.parse(String(data))
        if (!wanted(answer)) return
        socket.removeEventListener('message', listener)
        resolve(answer)
      }
      socket.addEventListener('message', listener)
    })
}
