// The search: sections, of search.js, are [address, heading, text]. A section is found by all
// words.
var sections = null
let script = null
const box = document.querySelector('input[type=search]'), found = document.querySelector('#found')
const up = document.documentElement.dataset.up

function look() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean)
  found.replaceChildren()
  if (!sections || !words.length) return
  const ranked = []
  for (const s of sections) {
    const heading = s[1].toLowerCase(), text = s[2].toLowerCase()
    const hits = words.map(w => 8 * heading.includes(w) + text.includes(w))
    if (hits.every(Boolean)) ranked.push([hits.reduce((a, b) => a + b), s, text.indexOf(words[0])])
  }
  ranked.sort((a, b) => b[0] - a[0])
  for (const [, s, at] of ranked.slice(0, 20)) {
    const item = document.createElement('li'), link = document.createElement('a')
    link.href = up + s[0]
    link.textContent = s[1]
    item.append(link, ' ' + s[2].slice(Math.max(0, at - 40), at + 80))
    found.append(item)
  }
  if (!ranked.length) found.append('Nothing has all of these words.')
}

box.addEventListener('input', () => {
  if (sections) return look()
  if (script) return // on its way
  script = document.createElement('script') // a page from a disk may not fetch
  script.src = up + 'search.js'
  script.onload = look
  script.onerror = () => { script = null }
  document.head.append(script)
})
