/** Waiting that somebody may end. */

/** Rejects with the reason of the signal as soon as it aborts; what was begun goes on, and nobody hears of it. */
export async function unlessAborted<T>(
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (signal === undefined) return work()
  signal.throwIfAborted()
  const left = Promise.withResolvers<never>()
  const leave = (): void => left.reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([work(), left.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
