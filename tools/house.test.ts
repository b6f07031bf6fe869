/** What `package.json` and its neighbours promise is so. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

import { PRODUCT } from '../src/std/index.ts'

type Manifest = Readonly<{
  name: string
  version: string
  bin: Record<string, string>
  exports: Record<string, string | { types: string; default: string }>
  engines: { node: string }
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  allowScripts: Record<string, boolean>
}>

const manifest: Manifest = JSON.parse(readFileSync('package.json', 'utf8'))

describe('the package', () => {
  test('bears the name of the product', () => {
    assert.equal(manifest.name, PRODUCT)
    assert.deepEqual(Object.keys(manifest.bin), [PRODUCT])
  })

  test('pins every dependency exactly', () => {
    for (const [name, version] of Object.entries({
      ...manifest.dependencies,
      ...manifest.devDependencies,
    }))
      assert.match(version, /^(?:npm:@?[a-z0-9/-]+@)?\d+\.\d+\.\d+$/, name)
  })

  test('opens a door for every subpath, and its command exists', () => {
    for (const [subpath, target] of Object.entries(manifest.exports)) {
      if (typeof target === 'string') continue
      const folder = subpath.slice(2)
      assert.equal(target.default, `./dist/${folder}/index.js`)
      assert.equal(target.types, `./dist/${folder}/index.d.ts`)
      assert.ok(existsSync(`src/${folder}/index.ts`), `src/${folder} has no door`)
    }
    for (const path of Object.values(manifest.bin))
      assert.ok(existsSync(path.replace('dist/', 'src/').replace(/\.js$/, '.ts')), path)
  })

  test('brings the Node that it asks for, and may install it', () => {
    const node = manifest.devDependencies['node']
    assert.equal(readFileSync('.node-version', 'utf8').trim(), node)
    assert.deepEqual(manifest.allowScripts, { node: true }) // by name: the lock file pins the rest
  })

  test('refuses the same old Nodes everywhere', () => {
    const [major, minor] = /^>=(\d+)\.(\d+)$/.exec(manifest.engines.node)!.slice(1)
    const guard = readFileSync('tools/node-version.js', 'utf8')
    const command = readFileSync('src/server/node-version.ts', 'utf8')
    assert.ok(guard.includes(`NEEDED = [${major}, ${minor}]`))
    assert.match(command, new RegExp(`NODE_MAJOR_MIN = ${major}\\b`))
    assert.match(command, new RegExp(`NODE_MINOR_MIN = ${minor}\\b`))
  })
})

describe('the lock file', () => {
  const lock: { packages: Record<string, { optionalDependencies?: Record<string, string> }> } =
    JSON.parse(readFileSync('package-lock.json', 'utf8'))

  // `npm install` leaves out what it could not fetch, and `npm ci` then refuses the file.
  test('knows the binaries of every platform', () => {
    for (const [path, { optionalDependencies = {} }] of Object.entries(lock.packages))
      for (const name of Object.keys(optionalDependencies))
        assert.ok(`node_modules/${name}` in lock.packages, `${path} may need ${name}`)
  })

  test('names no registry', () => {
    assert.doesNotMatch(readFileSync('package-lock.json', 'utf8'), /"resolved":/)
  })
})

describe('the changelog', () => {
  const changelog = readFileSync('CHANGELOG.md', 'utf8')
  const sections = [...changelog.matchAll(/^## (.+)$/gm)].map((match) => match[1]!)

  test('begins with what is not released yet, safety first', () => {
    assert.equal(sections[0], 'Unreleased')
    const [, first] = /^## Unreleased\n+### (.+)$/m.exec(changelog) ?? []
    assert.equal(first, 'Durability and safety')
  })

  test('uses its four kinds of change only', () => {
    for (const [, kind] of changelog.matchAll(/^### (.+)$/gm))
      assert.ok(['Durability and safety', 'Added', 'Changed', 'Fixed'].includes(kind!), kind)
  })
})
