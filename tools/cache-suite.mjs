// The public suite of HTTP caches (github.com/http-tests/cache-tests) against the program itself: the suite's own server,
// client and verdicts, with each of its requests made by a run of one task. Every case has a job, a cache and a home of its
// own. For developers; CI has the same cases against the rules (Tests/HTTPRulesTests/CacheCases.swift).
//
// usage: node tools/cache-suite.mjs FOLDER-OF-THE-SUITE [TEST-ID...]
//
// TRANSFER_RUN_BINARY names the program; .build/release/transfer-run without it. Node 20 or later, no packages.

import { spawn } from 'node:child_process'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'

const [folder, ...wanted] = process.argv.slice(2)
if (!folder) {
  console.error('usage: node tools/cache-suite.mjs FOLDER-OF-THE-SUITE [TEST-ID...]')
  process.exit(2)
}
const suite = name => import(path.resolve(folder, name))
const program = path.resolve(process.env.TRANSFER_RUN_BINARY ?? '.build/release/transfer-run')
const port = 18000 + process.pid % 2000
const base = `http://localhost:${port}`
const place = await fs.mkdtemp(path.join(os.tmpdir(), 'transfer-run-cache-suite-'))

// What the Fetch standard makes of `cache` in a request.
const policies = {
  'no-store': 'reloadIgnoringCacheData', reload: 'reloadIgnoringCacheData', 'force-cache': 'returnCacheDataElseLoad',
  'only-if-cached': 'returnCacheDataDontLoad'
}

function job (url, init) {
  const headers = {}
  for (const [name, value] of init.headers ?? []) (headers[name] ??= []).push(`${value}`.replaceAll('$', '$$$$'))
  if (init.cache === 'no-cache') headers['Cache-Control'] = ['max-age=0']
  const task = { id: 'a', type: init.body === undefined ? 'data' : 'upload', url, headers, expect: { status: '100-999' } }
  if (init.method) task.method = init.method
  if (init.body !== undefined) task.body = { data: init.body }
  if (policies[init.cache]) task.cachePolicy = policies[init.cache]
  const session = { retry: { attempts: 1 }, http: { compression: false } }
  // A lifetime is guessed only where the job says so.
  if (/^heuristic-/.test(headers['Test-ID']?.[0])) session.cache = { guessLifetime: true }
  if (init.redirect === 'manual') session.redirects = { follow: 'never', onRefuse: 'accept' }
  // JSON is YAML.
  return JSON.stringify({ name: 'case', sessions: { default: session }, tasks: [task] })
}

function run (home, text) {
  return new Promise((resolve, reject) => {
    const environment = {
      PATH: process.env.PATH, HOME: home, XDG_STATE_HOME: `${home}/state`, XDG_CACHE_HOME: `${home}/cache`,
      XDG_RUNTIME_DIR: `${home}/runtime`
    }
    const child = spawn(program, ['-', '--report', '-', '--progress', 'none'], { cwd: home, env: environment })
    let [output, errors] = ['', '']
    child.stdout.on('data', piece => { output += piece })
    child.stderr.on('data', piece => { errors += piece })
    child.on('error', reject)
    child.on('close', () => {
      try { resolve(JSON.parse(output).tasks[0]) } catch { reject(new Error(`no report: ${errors}`)) }
    })
    child.stdin.end(text)
  })
}

// At most as many processes at once as there is use for.
let free = 4
const queue = []
async function inTurn (work) {
  if (free === 0) await new Promise(resolve => queue.push(resolve))
  else free -= 1
  try { return await work() } finally {
    const next = queue.shift()
    if (next) next()
    else free += 1
  }
}

const ownFetch = globalThis.fetch
globalThis.fetch = async (url, init = {}) => {
  const match = /\/test\/([^/?]+)/.exec(url)
  if (!match) return ownFetch(url, init)
  const home = path.join(place, match[1])
  await fs.mkdir(home, { recursive: true, mode: 0o700 })
  const task = await inTurn(() => run(home, job(url, init)))
  // A connection that breaks is an error here; the suite also takes what a proxy says of it.
  if (task.error?.name === 'networkConnectionLost' || task.error?.name === 'badServerResponse') {
    return { status: 502, statusText: '', headers: new Headers(), text: async () => '' }
  }
  if (!task.response || task.outcome !== 'succeeded') throw new TypeError(task.error?.message ?? task.outcome)
  const headers = new Headers()
  for (const [name, value] of task.response.headers) {
    try { headers.append(name, value) } catch { /* what Fetch has no room for */ }
  }
  const body = task.body?.text ?? (task.body ? Buffer.from(task.body.base64, 'base64').toString() : '')
  return { status: task.response.status, statusText: '', headers, text: async () => body }
}

const server = spawn('node', ['test-engine/server/server.mjs'], {
  cwd: folder,
  env: {
    ...process.env, npm_config_protocol: 'http', npm_config_port: `${port}`, npm_config_pidfile: `${place}/server.pid`
  },
  stdio: ['ignore', 'pipe', 'ignore']
})
await new Promise(resolve => server.stdout.once('data', resolve))

const tests = (await suite('tests/index.mjs')).default
const { runTests, getResults } = await suite('test-engine/client/runner.mjs')
const { determineTestResult, resultTypes } = await suite('test-engine/lib/results.mjs')
const chosen = wanted.length === 0
  ? tests
  : tests.map(one => ({ ...one, tests: one.tests.filter(test => wanted.includes(test.id)) }))
console.error = () => {}
await runTests(chosen, true, base, 50)
server.kill()
await fs.rm(place, { recursive: true, force: true })

const results = getResults()
const counts = {}
for (const test of chosen.flatMap(one => one.tests)) {
  if (!(test.id in results)) continue
  const kind = test.kind ?? 'required'
  const verdict = determineTestResult(tests, test.id, results, false)
  const isMet = verdict === resultTypes.pass || verdict === resultTypes.yes
  counts[kind] ??= [0, 0]
  counts[kind][0] += isMet ? 1 : 0
  counts[kind][1] += 1
  if (!isMet && kind !== 'check') console.log(`${verdict[2]} ${kind} ${test.id}: ${results[test.id].join(': ')}`)
}
for (const [kind, [met, all]] of Object.entries(counts)) console.log(`${kind}: ${met} of ${all}`)
