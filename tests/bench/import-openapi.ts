import { importWithin } from '../../server/adapters/openapi/import-openapi'
import { LARGE, PUBLISHED, publishedOpenApi } from '../support/published-openapi'

/** How long each published OpenAPI file takes to import, in a child process of at most 200 MB if that is enough: `bun run bench:import`. */

const MEMORY_MB = [200, 400, 1024]

console.log('| file | MB | operations | seconds | within MB |')
console.log('| --- | --- | --- | --- | --- |')
for (const file of [...PUBLISHED, ...LARGE].sort()) {
  const text = await publishedOpenApi(file)
  const size = (Buffer.byteLength(text) / 1e6).toFixed(1)
  for (const mb of MEMORY_MB) {
    const start = performance.now()
    const result = await importWithin({ timeoutMs: 60_000, maxMemoryBytes: mb * 1_000_000 }, text, {})
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    if (!result.ok) continue
    console.log(`| ${file} | ${size} | ${result.value.operations.length} | ${seconds} | ${mb} |`)
    break
  }
}
