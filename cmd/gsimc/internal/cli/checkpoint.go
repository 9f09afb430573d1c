package cli

import (
	"context"
	"path/filepath"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// checkpointTimeout is the time that a server has to copy its store.
const checkpointTimeout = time.Minute

// Checkpoint has the server at an admin address copy its store, whose data folder is given, and
// returns the folder of the copy. The server removes it when release is called, or this process
// ends. Without a server it returns the data folder.
func Checkpoint(
	server string, access AccessFlags, dataDir string,
) (dir string, release func(), err error) {
	if server == "" {
		return dataDir, func() {}, nil
	}
	conn, err := (&ServerFlags{Server: server, AccessFlags: access}).Dial()
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	release = func() {
		cancel()
		_ = conn.Close() // it was only waited on
	}
	late := time.AfterFunc(checkpointTimeout, cancel)
	defer late.Stop()
	stream, err := pb.NewAdminServiceClient(conn.Conn()).CreateCheckpoint(ctx,
		&pb.CreateCheckpointRequest{})
	var copied *pb.CreateCheckpointResponse
	if err == nil {
		copied, err = stream.Recv()
	}
	if err != nil {
		defer release()
		if ctx.Err() != nil {
			return "", nil, Flagf("--server", "%s did not copy its store within %s", server,
				checkpointTimeout)
		}
		return "", nil, Advise(conn.Explain(err))
	}
	name := filepath.FromSlash(copied.GetDir())
	if !filepath.IsLocal(name) {
		defer release()
		return "", nil, Flagf("--server", "%s names a checkpoint %q outside its data folder",
			server, name)
	}
	return filepath.Join(dataDir, name), release, nil
}
