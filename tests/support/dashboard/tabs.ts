import type { BrowserContext, CDPSession, Page } from 'playwright-core'

/** Tabs that tests closed. */
const free = new Set<Page>()
/** The origin whose dashboard was left in a tab that a test closed, without a sign-in. */
const leftAt = new WeakMap<Page, string>()
/** Tabs whose page complained, of an ended session for example: what it keeps of that in memory is not for the next test. */
const spoilt = new WeakSet<Page>()
/** Answers that a page shows and does not keep. */
const LEAVES_NOTHING = /the server responded with a status of (400|404|409)/
/** The flag that tells each tab to save data. */
const savers = new WeakMap<Page, CDPSession>()
/** Tabs that a test gave another theme, or told to save data or not: only these are put back. */
const changed = { theme: new WeakSet<Page>(), saving: new WeakSet<Page>() }

/** A path of the dashboard at which there is no page. */
const NOWHERE = '/closed-by-a-test'
/** Long enough for a page that works to follow a link. */
const LEAVING_MS = 5_000
/** Longer than any page takes to show its heading. */
const ENTERING_MS = 30_000
/** The paths of pages inside the frame of the signed-in dashboard. */
const IN_FRAME =
  /^\/(welcome|keys|apps|notices|audit|requests|webhooks|billing|limits|social|settings|operator|usage|playground)?(\/|$)/

/**
 * A tab as a new one is. Its `close` empties it, and the next caller gets it: opening and closing a real tab costs the browser as much
 * processor time as loading the dashboard in it.
 */
export async function openTab(browser: BrowserContext): Promise<Page> {
  for (const page of free) {
    free.delete(page)
    if (page.context() !== browser || page.isClosed()) continue
    // The tab that opened last is in front, and the browser treats the others as hidden.
    await page.bringToFront()
    return watched(page)
  }
  const page = await browser.newPage()
  savers.set(page, await browser.newCDPSession(page))
  await savesData(page, true)
  const emulateMedia = page.emulateMedia.bind(page)
  page.emulateMedia = (media) => {
    changed.theme.add(page)
    return emulateMedia(media)
  }
  const close = page.close.bind(page)
  const size = page.viewportSize()
  page.close = () =>
    empty(page, size).then(
      () => void free.add(page),
      () => close(),
    )
  return watched(page)
}

/**
 * Whether the tab says that its visitor saves data, as each does until a test says otherwise. The dashboard then does not load all its pages
 * in advance after four seconds, which takes more than a second of processor time. Holds until the tab is closed.
 */
export async function savesData(page: Page, isSaving: boolean): Promise<void> {
  changed.saving.add(page)
  await savers.get(page)?.send('Emulation.setDataSaverOverride', { dataSaverEnabled: isSaving })
}

/** Tabs that show something, other than those that tests closed. */
export function openTabs(browser: BrowserContext): Page[] {
  return browser.pages().filter((page) => !free.has(page))
}

/** Ends the dashboard in every tab that tests closed. */
export async function endDashboards(): Promise<void> {
  for (const page of free) if (leftAt.delete(page) && !page.isClosed()) await endDashboard(page)
}

/**
 * Shows a path in a tab of `openTab`. Where the dashboard of this origin was left in it, the signed-in user enters as after a sign-in
 * on its page, at a fifth of the cost of a load.
 */
export async function show(page: Page, origin: string, path: string): Promise<void> {
  const left = leftAt.get(page)
  leftAt.delete(page)
  if (left === origin && IN_FRAME.test(new URL(path, origin).pathname))
    await page.evaluate(enter, { path, patience: ENTERING_MS })
  else await page.goto(origin + path)
}

/**
 * Waits until the tab shows what it last became, such as another width: it is in front, and two frames were drawn. One behind another
 * tab draws none.
 */
export async function drawn(page: Page): Promise<void> {
  await page.bringToFront()
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
}

function watched(page: Page): Page {
  spoilt.delete(page)
  page.on('console', (message) => {
    if (message.type() === 'error' && !LEAVES_NOTHING.test(message.text())) spoilt.add(page)
  })
  page.on('pageerror', () => spoilt.add(page))
  return page
}

/**
 * Puts back all that a test can have changed in the tab, and ends what it shows. A page that went on would ask with the cookies of the
 * next test, and the same address opened again would not be loaded.
 */
async function empty(page: Page, size: ReturnType<Page['viewportSize']>): Promise<void> {
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  const isLeft = await page.evaluate(leave, { nowhere: NOWHERE, patience: LEAVING_MS, isSpoilt: spoilt.has(page) })
  for (const event of ['pageerror', 'console', 'request', 'requestfinished', 'requestfailed'] as const)
    page.removeAllListeners(event)
  if (isLeft) leftAt.set(page, new URL(page.url()).origin)
  else await endDashboard(page)
  if (changed.theme.has(page)) await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  changed.theme.delete(page)
  if (size && !Bun.deepEquals(page.viewportSize(), size)) await page.setViewportSize(size)
  await page.mouse.move(0, 0)
  if (changed.saving.has(page)) await savesData(page, true)
  changed.saving.delete(page)
}

/** Shows a picture of the same origin, whose process keeps what it compiled. */
async function endDashboard(page: Page): Promise<void> {
  await page.goto(new URL('/favicon.svg', page.url()).href)
}

interface Leaving {
  readonly nowhere: string
  readonly patience: number
  readonly isSpoilt: boolean
}

/** A component of React's tree, as React keeps it in the page. */
interface Part {
  readonly child: Part | null
  readonly memoizedProps: { readonly client?: { clear(): void } } | null
}

/**
 * In the page: leaves for where there is no page, which ends all that the page has under way, and forgets what was read, as a sign-out does.
 * Returns whether it could: not outside the dashboard's frame, nor where something holds the visitor back.
 */
async function leave({ nowhere, patience, isSpoilt }: Leaving): Promise<boolean> {
  sessionStorage.clear()
  if (isSpoilt || !document.getElementById('main')) return false
  const root = Object.entries(document.getElementById('root') ?? {})
  const [, tree] = root.find(([name]) => name.startsWith('__reactContainer$')) ?? []
  // The provider of the queries is among the first components.
  let part: Part | null = tree?.stateNode.current ?? null
  while (part && !part.memoizedProps?.client) part = part.child
  if (!part) return false
  history.pushState({}, '', nowhere)
  const end = performance.now() + patience
  while (document.getElementById('main') || !document.querySelector('h1')) {
    if (performance.now() > end) return false
    await new Promise((done) => setTimeout(done, 5))
  }
  part.memoizedProps?.client?.clear()
  return true
}

/** In the page that `leave` left: follows a path, and waits until another page than that of nowhere is there. */
async function enter({ path, patience }: { readonly path: string; readonly patience: number }): Promise<void> {
  const nowhere = document.querySelector('h1')
  history.pushState({}, '', path)
  const end = performance.now() + patience
  while (nowhere?.isConnected) {
    if (performance.now() > end) throw new Error(`the dashboard did not show ${path}`)
    await new Promise((done) => setTimeout(done, 5))
  }
}
