import { type RefObject, useEffect, useState } from 'react'

type CopyState = 'idle' | 'copied' | 'selected'

const SAID: Record<CopyState, string> = { idle: '', copied: 'Copied', selected: 'Selected. Press Ctrl+C or Cmd+C.' }

/** Copies `text` and says so. Where the browser forbids it, selects the text on the page and says how to go on. */
export function CopyButton({ label, text, shownIn }: CopyButtonProps) {
  const [state, setState] = useState<CopyState>('idle')

  useEffect(() => {
    if (state !== 'copied') return
    const timer = setTimeout(() => setState('idle'), 3_000)
    return () => clearTimeout(timer)
  }, [state])

  const copy = async () => setState(await copyText(text, shownIn.current))
  return (
    <div className="copy">
      <span className="copy-said" role="status">
        {SAID[state]}
      </span>
      <button type="button" aria-label={label} onClick={() => void copy()}>
        Copy
      </button>
    </div>
  )
}

type CopyButtonProps = { label: string; text: string; shownIn: RefObject<HTMLElement | null> }

async function copyText(text: string, shown: HTMLElement | null): Promise<CopyState> {
  try {
    // Missing over plain http on any address but localhost, whatever the types say; the throw leads below.
    await navigator.clipboard.writeText(text)
    return 'copied'
  } catch {
    if (shown !== null) window.getSelection()?.selectAllChildren(shown)
    return 'selected'
  }
}
