import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const DIST = join(import.meta.dirname, 'dist')

// A regular expression: a plain '/api' is a prefix match and would swallow the source file /api.ts.
const SERVED_BY_GATEWAY =
  '^/(api|apis|v1|v1beta|mcp|docs|vendor|media|sandbox|health|ready|\\.well-known|openapi\\.json|llms\\.txt)([/?]|$)'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwind(), compressed()],
  build: { outDir: DIST, emptyOutDir: true, manifest: true, target: 'es2023', assetsInlineLimit: 0 },
  server: {
    host: '127.0.0.1',
    port: Number(process.env['WEB_PORT'] ?? 5173),
    strictPort: true,
    proxy: { [SERVED_BY_GATEWAY]: process.env['GATEWAY_URL'] ?? 'http://127.0.0.1:3000' },
  },
})

/** Writes a .br and a .gz beside every text file of the build, so that the server never compresses. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    async closeBundle() {
      const files = await readdir(DIST, { recursive: true })
      await Promise.all(files.filter((file) => /\.(html|js|css|svg)$/.test(file)).map(compress))
    },
  }
}

async function compress(name: string): Promise<void> {
  const file = join(DIST, name)
  const content = await readFile(file)
  await writeFile(`${file}.br`, await promisify(brotliCompress)(content))
  await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }))
}
