import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, zstdCompress } from 'node:zlib'
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { firstPaint } from './src/shell/first-paint.ts'

const DIST = join(import.meta.dirname, 'dist')

// A regular expression: a plain '/api' is a prefix match and would swallow the source file /api.ts.
const SERVED_BY_GATEWAY =
  '^/(api|apis|v1|v1beta|mcp|docs|vendor|media|sandbox|health|ready|\\.well-known|openapi\\.json|llms\\.txt)([/?]|$)'

/**
 * The code of nearly every page, in three files: a browser sends six requests at once, and each of thirty small files would cost a part of the
 * latency. Code of few pages stays with them, as does code of operators' pages.
 */
const CHUNKS = [
  { name: 'libraries', test: /node_modules\/(react|react-dom|scheduler|use-sync-external-store|@tanstack|clsx)\// },
  {
    name: 'shared',
    test: /(dashboard\/src\/(?!ui\/(layout\/(table|row-cards|list-parts|search-box)|budgets)|messages\/(?!ui|shell|failures|charts)|api\/account\/(identities|workspaces|second-factor)|features\/operator)|lucide-react\/dist\/esm\/(createLucideIcon|Icon|context|defaultAttributes|shared))/,
    minShareCount: 8,
  },
  // After the others, so that it has lists alone: some of the largest pages show none.
  { name: 'lists', test: /dashboard\/src\/ui\/layout\/(table|row-cards|list-parts|search-box)/ },
]

export default defineConfig({
  root: import.meta.dirname,
  plugins: [adoptedSheets(), react(), tailwind(), framed(), compressed()],
  // For React before 18, which had none of its own.
  resolve: { alias: { 'use-sync-external-store/shim/with-selector': 'use-sync-external-store/with-selector' } },
  build: {
    outDir: DIST,
    emptyOutDir: true,
    manifest: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    rolldownOptions: { output: { advancedChunks: { groups: CHUNKS } } },
  },
  server: {
    host: '127.0.0.1',
    port: Number(process.env['WEB_PORT'] ?? 5173),
    strictPort: true,
    proxy: { [SERVED_BY_GATEWAY]: process.env['GATEWAY_URL'] ?? 'http://127.0.0.1:3000' },
  },
})

const STYLE_SINGLETON = `export function stylesheetSingleton() {
  const sheet = new CSSStyleSheet()
  let users = 0
  return {
    add(styles) {
      if (users++ > 0) return
      sheet.replaceSync(styles)
      document.adoptedStyleSheets.push(sheet)
    },
    remove() {
      if (--users === 0) document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet)
    },
  }
}`
const SONNER_INSERT = 'function __insertCSS(code) {'

/**
 * Two libraries put <style> elements into the page: sonner, and react-remove-scroll of Radix, whose text depends on the width of the
 * scrollbar so that no hash fits it. They adopt constructed sheets instead, which a policy of style-src 'self' allows.
 */
function adoptedSheets(): Plugin {
  return {
    name: 'adopted-sheets',
    enforce: 'pre',
    load(id) {
      return /react-style-singleton\/dist\/es2015\/singleton\.js$/.test(id) ? STYLE_SINGLETON : null
    },
    transform(code, id) {
      if (!/sonner\/dist\/index\.mjs$/.test(id)) return null
      if (!code.includes(SONNER_INSERT)) this.error('sonner injects its sheet in another way now')
      const adopt =
        'const sheet = new CSSStyleSheet(); sheet.replaceSync(code); document.adoptedStyleSheets.push(sheet); return;'
      return { code: code.replace(SONNER_INSERT, SONNER_INSERT + adopt), map: null }
    },
  }
}

/** Writes app.html: index.html with the frame of a page, for signed-in visitors. */
function framed(): Plugin {
  return {
    name: 'framed',
    apply: 'build',
    async writeBundle() {
      const index = await readFile(join(DIST, 'index.html'), 'utf8')
      const root = '<div id="root">'
      if (!index.includes(root)) this.error('index.html has no #root')
      await writeFile(join(DIST, 'app.html'), index.replace(root, root + firstPaint()))
    },
  }
}

/** Writes a .br, a .zst and a .gz next to every text file of the build, so that the server never compresses. */
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
  const zstd = { params: { [constants.ZSTD_c_compressionLevel]: 19 } }
  await writeFile(`${file}.zst`, await promisify(zstdCompress)(content, zstd))
  // 4 % smaller than zlib makes it.
  await writeFile(`${file}.gz`, Bun.gzipSync(content, { library: 'libdeflate', level: 12 }))
}
