package serve

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server"
	"github.com/gsimc/gsimc/store"
)

// logger returns the logger that the flags ask for, with a level that may be changed.
func (c *Cmd) logger(w io.Writer, level *slog.LevelVar) *slog.Logger {
	level.Set(c.LogLevel)
	opt := &slog.HandlerOptions{Level: level}
	text := c.LogFormat == "text"
	if c.LogFormat == "auto" {
		f, ok := w.(*os.File)
		text = ok && term.IsTerminal(int(f.Fd()))
	}
	if text {
		return slog.New(slog.NewTextHandler(w, opt))
	}
	return slog.New(slog.NewJSONHandler(w, opt))
}

// logStart logs the version, the model, which may be nil, and the number of users. The server logs
// its addresses.
func logStart(
	ctx context.Context, cfg *server.Config, st store.Store, m *model.Model, slack time.Duration,
) {
	attrs := []slog.Attr{
		slog.String("version", cfg.BuildVersion), slog.String("store_id", st.Identity().Name()),
	}
	if m == nil {
		attrs = append(attrs, slog.String("model", "none"))
	} else {
		attrs = append(attrs, slog.String("model", m.Version()), slog.Int("items", m.NumItems()),
			slog.Int("rank", m.Rank()))
	}
	if stats, err := st.Stats(ctx); err == nil && stats.Users >= 0 {
		attrs = append(attrs, slog.Int64("users", stats.Users))
	}
	if slack > 0 {
		attrs = append(attrs, slog.String("timer_slack", slack.String()))
	}
	cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "starting", attrs...)
}
