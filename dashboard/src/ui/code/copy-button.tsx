import { Check, Copy } from 'lucide-react'
import { type RefObject, useEffect, useState } from 'react'
import { UI_TEXT } from '../../messages/ui.ts'
import { Button } from '../button.tsx'

type CopyState = 'idle' | 'copied' | 'selected'

const LABELS: Record<CopyState, string> = { idle: '', copied: UI_TEXT.copied, selected: UI_TEXT.selected }

/**
 * Copies `text` and confirms it. If the browser does not allow copying, selects the content of `shownIn` and explains how to copy
 * it.
 */
export function CopyButton({ label, text, shownIn, onCopied, quiet = false, tone }: CopyButtonProps) {
  const [state, setState] = useState<CopyState>('idle')
  useEffect(() => {
    if (state !== 'copied') return
    const timer = setTimeout(() => setState('idle'), 2_000)
    return () => clearTimeout(timer)
  }, [state])

  const copy = async () => {
    const next = await copyToClipboard(text, shownIn?.current ?? null)
    setState(next)
    if (next === 'copied') onCopied?.()
  }
  const Icon = state === 'copied' ? Check : Copy
  return (
    <>
      <Button tone={tone ?? (quiet ? 'quiet' : 'plain')} onClick={() => void copy()}>
        <Icon size={16} aria-hidden />
        {label}
      </Button>
      <span role="status" className={state === 'selected' ? 'small text-muted' : 'sr-only'}>
        {LABELS[state]}
      </span>
    </>
  )
}

type CopyButtonProps = {
  label: string
  text: string
  shownIn?: RefObject<HTMLElement | null>
  onCopied?: () => void
  quiet?: boolean
  tone?: 'primary' | 'plain'
}

/** Copies the text; if the browser does not allow it, selects what is shown. */
export async function copyToClipboard(text: string, shown: HTMLElement | null): Promise<CopyState> {
  try {
    // Undefined over plain http except on localhost, despite its type; the error is caught below.
    await navigator.clipboard.writeText(text)
    return 'copied'
  } catch {
    if (shown !== null) window.getSelection()?.selectAllChildren(shown)
    return 'selected'
  }
}
