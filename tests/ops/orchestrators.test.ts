import { describe, expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import Ajv from 'ajv'
import { parse } from 'yaml'
import { version } from '../../package.json'
import { readConfig, settingsAtStart } from '../../server/config'

/** Orchestrators of the container, by the schemas of their makers (tests/fixtures/orchestrators). */
const OPS = join(import.meta.dir, '../../ops')
const KUBERNETES = join(OPS, 'kubernetes')
const WITH_WORKERS = join(OPS, 'kubernetes-workers')
const SCHEMAS = join(import.meta.dir, '../fixtures/orchestrators')
const schema = async (name: string) =>
  JSON.parse(brotliDecompressSync(await readFile(join(SCHEMAS, `${name}.json.br`))).toString())
const yaml = async (path: string) => parse(await readFile(path, 'utf8'))
/** Drafts differ in keywords that these schemas do not use. */
const ajv = () => new Ajv({ strict: false, validateFormats: false, validateSchema: false, logger: false })
const DEFAULT_DRAIN_SECONDS = 305

describe('ops/kubernetes', () => {
  const manifests = async () => {
    const names = (await readdir(KUBERNETES)).filter((name) => !/^(kustomization|settings)/.test(name))
    return Promise.all(names.map((name) => yaml(join(KUBERNETES, name))))
  }
  const find = async (kind: string) => (await manifests()).find((manifest) => manifest.kind === kind)

  test('has no member that Kubernetes 1.37 does not know, or of another type', async () => {
    const kinds = ajv().addSchema({ $id: 'kubernetes', ...(await schema('kubernetes-1.37')) })
    const { resources, images } = await yaml(join(KUBERNETES, 'kustomization.yaml'))
    expect(images).toEqual([{ name: 'gateway', newTag: version }])
    for (const manifest of await manifests()) {
      const { kind } = manifest
      const valid = kinds.getSchema(`kubernetes#/kinds/${kind}`)
      expect({ kind, ok: valid?.(manifest), errors: valid?.errors }).toEqual({ kind, ok: true, errors: null })
      expect({ kind, ok: valid?.({ ...manifest, sepc: {} }) }).toEqual({ kind, ok: false })
    }
    expect(resources.length).toBe((await manifests()).length - 1) // without the example of the Secret
  })

  test.skipIf(!Bun.which('kubectl'))('kubectl puts them together: names and selectors fit', () => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(['kubectl', 'kustomize', KUBERNETES])
    expect([exitCode, stderr.toString()]).toEqual([0, ''])
    const all = stdout
      .toString()
      .split(/^---$/m)
      .map((text) => parse(text))
    const of = (kind: string) => all.find((manifest) => manifest.kind === kind)
    const pod = of('StatefulSet').spec.template
    for (const { matchLabels } of [of('StatefulSet').spec.selector, of('PodDisruptionBudget').spec.selector])
      expect(pod.metadata.labels).toEqual(matchLabels)
    expect(of('Service').spec.selector).toEqual(pod.metadata.labels)
    expect(pod.spec.volumes[0].configMap.name).toBe(of('ConfigMap').metadata.name)
    expect(pod.spec.containers[0].image).toBe(`gateway:${version}`)
  })

  test('gives the pod no rights, and more time than a stop takes', async () => {
    const { spec } = (await find('StatefulSet')).spec.template
    expect(spec).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } })
    expect(spec.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const secrets = await find('Secret')
    const settings = join(KUBERNETES, 'settings.yaml')
    const given = { CONFIG_FILE: settings, NODE_ENV: 'production' }
    // The Secret's names are those of the files that the settings name.
    const text = await yaml(settings)
    for (const name of ['SECRET_KEY_FILE', 'SEALING_KEYS_FILE'])
      expect(secrets.stringData).toHaveProperty(text[name].replace('/run/secrets/gateway/', ''))
    expect(() => readConfig(given, {})).toThrow('/run/secrets/gateway/secret_key cannot be read')
    const needed = Number(text.DRAIN_NOTICE_SECONDS) + DEFAULT_DRAIN_SECONDS + 7
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(needed)
  })
})

/** One primary, and workers in pods of their own. */
describe('ops/kubernetes-workers', () => {
  const manifest = (name: string) => yaml(join(WITH_WORKERS, `${name}.yaml`))

  test('has no member that Kubernetes 1.37 does not know, or of another type', async () => {
    const kinds = ajv().addSchema({ $id: 'kubernetes', ...(await schema('kubernetes-1.37')) })
    const { resources, images } = await manifest('kustomization')
    expect([resources[0], images]).toEqual(['../kubernetes', [{ name: 'gateway', newTag: version }]])
    const names = resources.slice(1).map((name: string) => name.replace('.yaml', ''))
    expect(names).toHaveLength((await readdir(WITH_WORKERS)).filter((name) => !name.startsWith('kustom')).length)
    for (const name of names) {
      const one = await manifest(name)
      const valid = kinds.getSchema(`kubernetes#/kinds/${one.kind}`)
      expect({ name, ok: valid?.(one), errors: valid?.errors }).toEqual({ name, ok: true, errors: null })
      expect({ name, ok: valid?.({ ...one, sepc: {} }) }).toEqual({ name, ok: false })
    }
  })

  test.skipIf(!Bun.which('kubectl'))('callers reach workers, and workers the primary, whose settings fit', () => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(['kubectl', 'kustomize', WITH_WORKERS])
    expect([exitCode, stderr.toString()]).toEqual([0, ''])
    const all = stdout
      .toString()
      .split(/^---$/m)
      .map((text) => parse(text))
    const of = (kind: string, name: string) =>
      all.find(({ kind: is, metadata }) => is === kind && metadata.name.startsWith(name))
    const [primary, worker] = [
      of('StatefulSet', 'gateway').spec.template,
      of('Deployment', 'gateway-worker').spec.template,
    ]
    expect(of('Service', 'gateway').spec.selector).toEqual(worker.metadata.labels)
    expect(of('Service', 'gateway-primary').spec.selector).toEqual(primary.metadata.labels)
    expect(of('Deployment', 'gateway-worker').spec.selector.matchLabels).toEqual(worker.metadata.labels)
    expect(of('HorizontalPodAutoscaler', 'gateway-worker').spec.scaleTargetRef.name).toBe('gateway-worker')
    for (const { containers } of [primary.spec, worker.spec]) expect(containers[0].image).toBe(`gateway:${version}`)
    const volumes = (spec: { volumes: { name: string }[] }) => spec.volumes.map(({ name }) => name)
    for (const { spec } of [primary, worker])
      for (const { name } of spec.containers[0].volumeMounts)
        expect([...volumes(spec), 'data', 'scratch']).toContain(name)
    const settings = Object.fromEntries(
      primary.spec.containers[0].env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    )
    expect(settings).toMatchObject({ WORKERS_PORT: '7000', WORKERS_CERT: '/run/secrets/primary/tls.crt' })
    const ports = of('Service', 'gateway-primary').spec.ports.map(({ port }: { port: number }) => port)
    expect(ports).toEqual([7000, 7001])
  })

  test('a worker gets no secret of the primary, and knows where it is', async () => {
    const { spec } = (await manifest('workers')).spec.template
    const settings: Record<string, string> = Object.fromEntries(
      spec.containers[0].env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    )
    expect(() => settingsAtStart(settings).remote()).toThrow('/run/secrets/worker/worker_credential cannot be read')
    expect(Object.keys(settings).filter((name) => /SECRET_KEY|SEALING|WALLET|RELAYER/.test(name))).toEqual([])
    expect(settings).toMatchObject({ PRIMARY: 'https://gateway-primary:7000' })
    expect(spec).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } })
    const { DRAIN_NOTICE_SECONDS } = await yaml(join(KUBERNETES, 'settings.yaml'))
    const needed = Number(DRAIN_NOTICE_SECONDS) + DEFAULT_DRAIN_SECONDS + 7
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(needed)
  })
})

test('ops/compose.yaml is a Compose file by its specification', async () => {
  const compose = await yaml(join(OPS, 'compose.yaml'))
  const valid = ajv().compile(await schema('compose-spec'))
  expect([valid(compose), valid.errors]).toEqual([true, null])
  expect(valid({ services: { gateway: { imgae: 'x' } } })).toBe(false)
  expect(compose.services.gateway).toMatchObject({ read_only: true, cap_drop: ['ALL'] })
})
