/** Where the packages of one registry are installed. */
export type WorkshopName = 'Python' | 'JavaScript' | 'Go'

const OPENAPI_GENERATOR = 'openapi-generator-cli'
export const OAPI_CODEGEN = 'v2.8.2'

/** A generator of clients, and the language that it writes. */
export type GeneratorName =
  | 'openapi-python-client Python'
  | 'oapi-codegen Go'
  | `openapi-generator ${'Python' | 'Go' | 'Java'}`

/** One client, and the script that makes its first calls as its own documentation does. */
export interface ClientUnderTest {
  readonly name: string
  readonly language: WorkshopName | 'Java'
  /** The name of the package at its registry, which also names the version to show. */
  readonly package: string
  /** The file (or folder, in Go) of the script. */
  readonly script: string
  /** The client is what this generator makes of the gateway's document. It has no script. */
  readonly generator?: GeneratorName
  /** Where the workshop does not know it. */
  readonly version?: string
  /** Pays by itself out of a wallet of the test chains. */
  readonly pays?: boolean
}

const python = (name: string, script: string, more: Partial<ClientUnderTest> = {}): ClientUnderTest => ({
  name,
  language: 'Python',
  package: name,
  script: `${script}.py`,
  ...more,
})
const javaScript = (name: string, script: string, more: Partial<ClientUnderTest> = {}): ClientUnderTest => ({
  name,
  language: 'JavaScript',
  package: name,
  script: `${script}.mjs`,
  ...more,
})
const go = (name: string, script: string, module: string): ClientUnderTest => ({
  name,
  language: 'Go',
  package: module,
  script,
})
const openApiGenerator = (language: 'Python' | 'Go' | 'Java'): ClientUnderTest => ({
  name: 'openapi-generator',
  language,
  package: OPENAPI_GENERATOR,
  script: '',
  generator: `openapi-generator ${language}`,
})

/** The workshop that a client needs: `openapi-generator` comes from Python's registry, whatever language it writes. */
export function workshopOf({ language, package: name }: ClientUnderTest): WorkshopName {
  return language === 'Java' || name === OPENAPI_GENERATOR ? 'Python' : language
}

export const CLIENTS: readonly ClientUnderTest[] = [
  javaScript('openai', 'openai'),
  python('openai', 'openai_sdk'),
  go('openai-go', 'openai', 'github.com/openai/openai-go/v3'),
  javaScript('@anthropic-ai/sdk', 'anthropic'),
  python('anthropic', 'anthropic_sdk'),
  go('anthropic-sdk-go', 'anthropic', 'github.com/anthropics/anthropic-sdk-go'),
  javaScript('@google/genai', 'google-genai'),
  python('google-genai', 'google_genai'),
  go('go-genai', 'genai', 'google.golang.org/genai'),
  javaScript('ai', 'ai-sdk'),
  javaScript('@openai/agents', 'openai-agents'),
  python('openai-agents', 'openai_agents'),
  javaScript('langchain', 'langchain'),
  python('langchain', 'langchain_sdk'),
  javaScript('llamaindex', 'llama-index'),
  python('llama-index-core', 'llama_index_sdk'),
  python('litellm', 'litellm_sdk'),
  python('pydantic-ai-slim', 'pydantic_ai_sdk'),
  python('instructor', 'instructor_sdk'),
  javaScript('@hey-api/openapi-ts', 'generated'),
  python('openapi-python-client', '', { generator: 'openapi-python-client Python' }),
  { ...go('oapi-codegen', '', 'oapi-codegen'), generator: 'oapi-codegen Go', version: OAPI_CODEGEN },
  openApiGenerator('Python'),
  openApiGenerator('Go'),
  openApiGenerator('Java'),
  javaScript('@modelcontextprotocol/client', 'mcp-client'),
  python('mcp', 'mcp_sdk'),
  python('fastmcp', 'fastmcp_sdk'),
  go('mcp-go', 'mcp', 'github.com/mark3labs/mcp-go'),
  python('authlib', 'authlib_sdk'),
  javaScript('@redocly/cli', 'redocly'),
  javaScript('@stoplight/spectral-core', 'spectral'),
  python('schemathesis', 'schemathesis_sdk'),
  python('x402', 'x402_sdk', { pays: true }),
  python('pympp', 'pympp_sdk', { pays: true }),
  javaScript('mppx', 'mppx', { pays: true }),
]

/**
 * Calls that fail by a fault of the other side, and the fault, by "CLIENT LANGUAGE: CALL". One that works fails the run, so that it is
 * taken out here.
 */
export const EXCUSES: ReadonlyMap<string, string> = new Map([
  [
    'mppx JavaScript: pay one request with the newest viem, 2.57.20',
    'it signs a random nonce (TIP-1106), which the sandbox chain, anvil 1.7.1, does not know; up to viem 2.57.13 it pays',
  ],
  [
    'x402 Python: pay one request, version 1',
    'it wants the error of a version 1 offer to be a text; here errors are objects',
  ],
  [
    'schemathesis Python: accepts whatever the document allows',
    'it invents calls of models that do not take what it sends',
  ],
])

export const JAVASCRIPT_PACKAGES = [
  'mppx@0.11.0',
  'viem@2.57.20',
  '@copilotkit/aimock@1.43.0',
  '@openai/agents@0.20.0',
  '@langchain/openai@1.6.0',
  '@langchain/anthropic@1.5.11',
  'langchain@1.5.14',
  'llamaindex@0.12.1',
  '@llamaindex/openai@0.4.23',
  '@llamaindex/workflow@1.1.24',
  '@modelcontextprotocol/client@2.4.0',
  '@hey-api/openapi-ts@0.99.0',
  // The generator reads the compiler of this version.
  'typescript@5.9.3',
  '@redocly/cli@2.77.0',
  '@stoplight/spectral-core@1.24.1',
  '@stoplight/spectral-rulesets@1.23.1',
  'zod@4.6.7',
]
/** These take the versions that the project's own tests use. */
export const SHARED_PACKAGES = [
  'openai',
  '@anthropic-ai/sdk',
  '@google/genai',
  'ai',
  '@ai-sdk/openai',
  '@ai-sdk/anthropic',
  '@ai-sdk/google',
]

export const PYTHON_PACKAGES = [
  'openai==2.54.0',
  'anthropic==2.12.0',
  'google-genai==3.4.0',
  'langchain==1.4.7',
  'langchain-openai==1.7.3',
  'langchain-anthropic==1.7.7',
  'llama-index-llms-openai==0.8.3',
  'llama-index-embeddings-openai==0.7.0',
  'litellm==1.106.2',
  'pydantic-ai-slim[openai]==2.31.1',
  'instructor==1.17.0',
  'openai-agents==0.20.0',
  'fastmcp==4.1.2',
  'mcp==2.3.0',
  'x402[evm,requests]==2.25.0',
  'pympp[tempo]==0.16.0',
  'authlib==1.9.9',
  'schemathesis==4.32.5',
  'openapi-python-client==0.29.1',
  `${OPENAPI_GENERATOR}==7.26.0`,
]
