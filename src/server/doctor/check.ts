/** One thing that a doctor has looked at, and what there is to say about it. */

export type CheckStatus = 'ok' | 'warning' | 'trouble' | 'skipped'

export type Check = Readonly<{
  name: string
  status: CheckStatus
  message: string
  /** How sure that is; only what is wrong says so. */
  certainty?: 'certain' | 'likely'
  /** The file, directory or address that it is about. */
  where?: string
  /** What makes it right again, exactly as a shell takes it. */
  command?: string
  /** What to do where no one command does it. */
  advice?: string
}>

export function ok(name: string, message: string, where?: string): Check {
  return { name, status: 'ok', message, ...(where !== undefined && { where }) }
}

/** It cannot be looked at before something else is right, or somebody else is done. */
export function skipped(name: string, message: string): Check {
  return { name, status: 'skipped', message }
}

export function trouble(name: string, message: string, more: Partial<Check>): Check {
  return { name, status: 'trouble', certainty: 'certain', message, ...more }
}

export function warning(name: string, message: string, more: Partial<Check>): Check {
  return { name, status: 'warning', certainty: 'certain', message, ...more }
}

export function checkLines(check: Check): string[] {
  const { name, status, message, certainty, where, command, advice } = check
  const sure = certainty === undefined ? '' : ` (${certainty})`
  const remedy = command ?? advice
  return [
    `${status.padEnd(8)} ${name.padEnd(11)} ${where === undefined ? '' : `${where}: `}${message}${sure}`,
    ...(remedy === undefined ? [] : [`         what to do: ${remedy}`]),
  ]
}
