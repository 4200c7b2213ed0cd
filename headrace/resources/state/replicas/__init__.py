"""Workers that train one model: whose gradients count, when an update is made, who may go on."""
