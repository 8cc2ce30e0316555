import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type GeneratorName, OAPI_CODEGEN } from './client-list'
import type { CallResult } from './table'
import { FOLDER, lastLine, output } from './workshop'

/** Programs that make their first calls with a client that was generated, by the name of its generator and language. */
const PROGRAMS = join(import.meta.dir, 'generated')
const PYTHON = join(FOLDER, 'python', 'bin')
const GO_TOOLS = join(FOLDER, 'go-tools')
const OAPI_RUNTIME = 'v1.8.0'

/** One step: a command in the folder of the client. */
type Step = readonly string[]

/** A generator of clients in one language. */
interface Generator {
  /** The needed programs; without them the client is skipped. */
  readonly needs: readonly string[]
  /** Writes the files that the generated code needs. */
  prepare(folder: string): Promise<unknown>
  /** Reads `openapi.json` of the folder. */
  readonly generate: readonly Step[]
  readonly compile: readonly Step[]
  /** Makes the calls, and prints a line for each. */
  readonly run: Step
  readonly env?: Readonly<Record<string, string>>
}

/** `openapi-generator` is written in Java, whatever language it writes. */
const openApiGenerator = (language: string, ...more: readonly string[]): Step => [
  ...[join(PYTHON, 'openapi-generator-cli'), 'generate', '-i', 'openapi.json', '-g', language, '-o', '.'],
  ...more,
]

const PYTHON_PATH = { PYTHONPATH: [join(import.meta.dir, 'python'), '.'].join(':') }

async function goModule(folder: string, program: string, requires: string): Promise<void> {
  await writeFile(join(folder, 'go.mod'), `module generated\n\ngo 1.25\n${requires}`)
  await cp(join(import.meta.dir, 'go', 'calls'), join(folder, 'calls'), { recursive: true })
  await mkdir(join(folder, 'gateway'), { recursive: true })
  await cp(join(PROGRAMS, program), join(folder, 'main.go'))
}

const GO_BUILD: Step = ['go', 'build', '-mod=mod', '-o', 'program', '.']

const GENERATORS: Readonly<Record<GeneratorName, Generator>> = {
  'openapi-generator Python': {
    needs: ['java'],
    prepare: (folder) => cp(join(PROGRAMS, 'openapi_generator.py'), join(folder, 'main.py')),
    generate: [openApiGenerator('python')],
    compile: [[join(PYTHON, 'python'), '-m', 'compileall', '-q', 'openapi_client']],
    run: [join(PYTHON, 'python'), 'main.py'],
    env: PYTHON_PATH,
  },
  'openapi-python-client Python': {
    needs: [],
    prepare: async (folder) => {
      await cp(join(PROGRAMS, 'openapi_python_client.py'), join(folder, 'main.py'))
      // Without the formatter that it otherwise runs over what it wrote.
      await writeFile(join(folder, 'config.yaml'), 'post_hooks: []\n')
    },
    generate: [
      [
        ...[join(PYTHON, 'openapi-python-client'), 'generate', '--path', 'openapi.json', '--config', 'config.yaml'],
        ...['--meta', 'none', '--output-path', 'paid_data_api_gateway_client', '--overwrite'],
      ],
    ],
    compile: [[join(PYTHON, 'python'), '-m', 'compileall', '-q', 'paid_data_api_gateway_client']],
    run: [join(PYTHON, 'python'), 'main.py'],
    env: PYTHON_PATH,
  },
  'oapi-codegen Go': {
    needs: ['go'],
    prepare: async (folder) => {
      await goModule(folder, 'oapi_codegen.go', `\nrequire github.com/oapi-codegen/runtime ${OAPI_RUNTIME}\n`)
    },
    generate: [
      ['go', 'install', `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@${OAPI_CODEGEN}`],
      [
        join(GO_TOOLS, 'oapi-codegen'),
        '-generate',
        'types,client',
        '-package',
        'gateway',
        '-o',
        'gateway/client.go',
        'openapi.json',
      ],
    ],
    compile: [GO_BUILD],
    run: ['./program'],
    env: { GOBIN: GO_TOOLS },
  },
  'openapi-generator Go': {
    needs: ['java', 'go'],
    prepare: (folder) => goModule(folder, 'openapi_generator.go', ''),
    generate: [
      openApiGenerator('go', '-o', 'gateway', '--additional-properties=packageName=gateway,withGoMod=false'),
      ['rm', '-r', 'gateway/test'], // Its tests import a module by a placeholder's name.
    ],
    compile: [GO_BUILD],
    run: ['./program'],
  },
  'openapi-generator Java': {
    needs: ['java', 'mvn'],
    prepare: (folder) =>
      cp(join(PROGRAMS, 'FirstCalls.java'), join(folder, 'src', 'main', 'java', 'FirstCalls.java'), {
        recursive: true,
      }),
    generate: [openApiGenerator('java')],
    compile: [
      [
        ...['mvn', '--quiet', '--batch-mode', '-Dmaven.test.skip=true', 'compile'],
        ...['dependency:build-classpath', '-Dmdep.outputFile=libraries'],
      ],
    ],
    run: ['sh', '-c', 'exec java -cp "target/classes:$(cat libraries)" FirstCalls'],
  },
}

/** Generates a client, compiles it and makes its first calls, whose lines it returns. Stops at the first step that fails. */
export async function runGenerator(name: GeneratorName, env: Readonly<Record<string, string>>) {
  const generator = GENERATORS[name]
  const missing = generator.needs.find((program) => !Bun.which(program))
  if (missing !== undefined) return { calls: [], out: '', skipped: `${missing} is not installed` }
  const folder = join(FOLDER, 'generated', name.replace(' ', '-'))
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await Bun.write(join(folder, 'openapi.json'), await fetch(`${env['GATEWAY_ORIGIN']}/openapi.json`))
  await generator.prepare(folder)
  const all = { ...env, ...generator.env }
  const calls: CallResult[] = []
  for (const call of ['generate', 'compile'] as const) {
    const why = await firstProblem(generator[call], folder, all)
    calls.push({ call, why })
    if (why !== null) return { calls, out: '', skipped: null }
  }
  const { out, problems, code } = await output(generator.run, folder, all, 120)
  if (code !== 0) calls.push({ call: 'start', why: lastLine(problems) })
  return { calls, out, skipped: null }
}

async function firstProblem(steps: readonly Step[], folder: string, env: Record<string, string>) {
  for (const step of steps) {
    const { code, out, problems } = await output(step, folder, env)
    if (code === 0) continue
    // Maven's last lines are advice.
    const error = `${out}\n${problems}`.split('\n').find((line) => /error\b/i.test(line))
    return error ?? (lastLine(problems) || `it ended with ${code}`)
  }
  return null
}
