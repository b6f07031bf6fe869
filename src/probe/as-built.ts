/** A file of ours that is not imported but started: TypeScript as it stands, JavaScript where it is built. */
export function asBuilt(file: URL): URL {
  const extension = /\.\w+$/.exec(import.meta.filename)?.[0] ?? '.js'
  return new URL(file.href.replace(/\.ts$/, extension))
}
