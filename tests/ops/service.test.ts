import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const UNIT = join(import.meta.dir, '../../ops/gateway.service')
const WORKER = join(import.meta.dir, '../../ops/gateway-worker.service')

test.skipIf(!Bun.which('systemd-analyze')).each([UNIT, WORKER])(
  'systemd accepts %s and rates its exposure as low',
  (unit) => {
    const run = Bun.spawnSync(['systemd-analyze', 'security', '--offline=true', '--threshold=20', unit])
    expect({ code: run.exitCode, said: run.stderr.toString() }).toEqual({ code: 0, said: '' })
    expect(run.stdout.toString()).toContain('Overall exposure level')
    // `verify` also wants the program, which is not installed where the tests run.
    const unknown = Bun.spawnSync(['systemd-analyze', 'verify', unit]).stderr.toString()
    expect(unknown).not.toContain('Unknown')
  },
)

test.each([UNIT, WORKER])(
  '%s waits longer for calls in progress than the gateway does by its defaults',
  async (path) => {
    const unit = await readFile(path, 'utf8')
    const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])
    // DRAIN_NOTICE_SECONDS, DRAIN_SECONDS, and the last responses.
    expect(seconds).toBeGreaterThan(5 + 305 + 7)
    expect(unit).toContain('Environment=NODE_ENV=production')
  },
)

test('the unit of a worker protects the machine as that of the gateway does, and runs `worker`', async () => {
  const [gateway, worker] = await Promise.all([UNIT, WORKER].map((path) => readFile(path, 'utf8')))
  const rules = (unit = '') => unit.slice(unit.indexOf('NoNewPrivileges=')).replace(/^#.*$/gm, '')
  expect(rules(worker)).toBe(rules(gateway))
  expect(worker).toContain('ExecStart=/usr/local/bin/gateway-server worker\n')
  expect(gateway).toContain('ExecReload=/bin/kill -HUP $MAINPID')
})

test('the unit starts the binary as the container does, with its data as the only folder that it may write', async () => {
  const unit = await readFile(UNIT, 'utf8')
  const dockerfile = await readFile(join(UNIT, '../Dockerfile'), 'utf8')
  const of = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1]
  const [, program] = /^ENTRYPOINT \["\/([^"]+)"\]$/m.exec(dockerfile) ?? []
  const [, command] = /^CMD \["([^"]+)"\]$/m.exec(dockerfile) ?? []
  expect(of('ExecStart')).toBe(`/usr/local/bin/${program} ${command}`)
  expect(of('Environment=DATA_DIR')).toBe('/var/lib/gateway')
  expect([of('RequiresMountsFor'), of('WorkingDirectory')]).toEqual(['/var/lib/gateway', '/var/lib/gateway'])
  expect([of('StateDirectory'), of('ProtectSystem')]).toEqual(['gateway', 'strict'])
  expect(unit).not.toContain('ReadWritePaths')
})
