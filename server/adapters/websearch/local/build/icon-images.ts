import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { IndexImage } from './index-document'

/** The address path under which the gateway serves the icon set. */
export const ICON_PATH = '/media/lucide'

/** The icons of an installed lucide-static as images; empty if it is not installed. */
export async function iconImages(nodeModules: string): Promise<IndexImage[]> {
  const root = join(nodeModules, 'lucide-static')
  const tags = await readTags(join(root, 'tags.json'))
  const files = (await readdir(join(root, 'icons')).catch(() => [])).sort()
  const names = files.flatMap((file) => /^([a-z0-9-]+)\.svg$/.exec(file)?.[1] ?? [])
  return names.map((name) => ({
    pageUrl: `https://lucide.dev/icons/${name}`,
    title: `${capitalised(name.replaceAll('-', ' '))} icon`,
    imageUrl: `${ICON_PATH}/${name}.svg`,
    tags: tags.get(name) ?? [],
    width: 24,
    height: 24,
    favicon: 'https://lucide.dev/favicon.ico',
  }))
}

async function readTags(path: string): Promise<ReadonlyMap<string, string[]>> {
  const text = await readFile(path, 'utf8').catch(() => '{}')
  const parsed: unknown = JSON.parse(text)
  const entries = Object.entries(typeof parsed === 'object' && parsed !== null ? parsed : {})
  return new Map(
    entries.map(([name, tags]) => [name, Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : []]),
  )
}

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
