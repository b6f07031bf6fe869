/** `config print`: every setting with where it was given. What it prints is a config file. */
import type { Asked } from '../cli.ts'
import { KEY_NAMES } from '../config-keys.ts'
import { writtenConfig } from '../config.ts'
import { EXIT, type Io } from '../io.ts'

export async function printConfig({ config: loaded, json }: Asked, io: Io): Promise<number> {
  const { config, places } = loaded
  const written = writtenConfig(config)
  if (json) {
    const settings = KEY_NAMES.map((key) => ({
      key,
      value: written[key] ?? null,
      from: places.get(key) ?? 'default',
    }))
    io.out(`${JSON.stringify({ ok: true, settings }, undefined, 2)}\n`)
    return EXIT.fine
  }
  for (const key of KEY_NAMES) {
    const value = written[key]
    const line = value === undefined ? `# ${key}:` : `${key}: ${JSON.stringify(value)}`
    io.out(`${line} # ${value === undefined ? 'not set' : (places.get(key) ?? 'default')}\n`)
  }
  return EXIT.fine
}
